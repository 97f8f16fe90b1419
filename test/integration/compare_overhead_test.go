package integration

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"coapply.dev/compare"
	"coapply.dev/compare/statistics"
	"coapply.dev/compare/target"
)

// overheadTime is how long either side of a pair writes.
const overheadTime = 400 * time.Millisecond

// BenchmarkGeneratorOverhead shows what the benchmark costs beside a bare loop over client-go: one writer, one object.
// Both run in turns, pair by pair, and the ratio is that of intents a second with its 95 % interval. The bare loop has no
// oracle, no watch, no counting; ratios are to stay within 5 % of 1. Run it with -benchtime=20x or more: it is the number
// of pairs.
func BenchmarkGeneratorOverhead(b *testing.B) {
	on, err := target.On(b.Context(), cluster(b), io.Discard) // whose etcd waits for the disk, as in a run
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := on.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	})
	bare, err := dynamic.NewForConfig(on.User())
	if err != nil {
		b.Fatal(err)
	}
	maps := bare.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(on.Namespace())
	for _, loop := range []struct {
		arm   string
		write func(context.Context, dynamic.ResourceInterface, int) error
	}{{"gmu", getModifyUpdate}, {"ssa", applyOnce}} {
		b.Run(loop.arm, func(b *testing.B) {
			var alone, within []float64
			for b.Loop() {
				alone = append(alone, bareLoop(b, maps, loop.write))
				trial := runTrial(b, on, hotTrial(b, loop.arm, len(alone), func(p *compare.Parameters) {
					p.Writers, p.Managers, p.Warmup, p.Duration = 1, 1, overheadTime/10, overheadTime
				})).Trial
				within = append(within, float64(trial.Timed.Landed)/trial.Measured.Seconds())
			}
			ratio, err := statistics.Paired(within, alone, 1)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(ratio.Ratio, "ratio")
			if ratio.Lo != 0 {
				b.ReportMetric(ratio.Lo, "ratio-lo")
				b.ReportMetric(ratio.Hi, "ratio-hi")
			}
			b.ReportMetric(alone[len(alone)-1], "bare-intents/s")
		})
	}
}

// bareLoop gives intents a second.
func bareLoop(b *testing.B, maps dynamic.ResourceInterface, write func(context.Context, dynamic.ResourceInterface, int) error) float64 {
	b.Helper()
	ctx := b.Context()
	if err := maps.Delete(ctx, "bare", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		b.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	object.SetName("bare")
	object.SetLabels(map[string]string{"compare.coapply.dev/trial": "bare"}) // as large as the trial's, with as many managers
	if _, err := maps.Create(ctx, object, metav1.CreateOptions{FieldManager: "compare-prepare"}); err != nil {
		b.Fatal(err)
	}
	if err := applyOnce(ctx, maps, -1); err != nil {
		b.Fatal(err)
	}
	warm := time.Now().Add(overheadTime / 10)
	i := 0
	for ; time.Now().Before(warm); i++ {
		if err := write(ctx, maps, i); err != nil {
			b.Fatal(err)
		}
	}
	first, began := i, time.Now()
	for ; time.Since(began) < overheadTime; i++ {
		if err := write(ctx, maps, i); err != nil {
			b.Fatal(err)
		}
	}
	return float64(i-first) / time.Since(began).Seconds()
}

func getModifyUpdate(ctx context.Context, maps dynamic.ResourceInterface, i int) error {
	object, err := maps.Get(ctx, "bare", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := unstructured.SetNestedField(object.Object, fmt.Sprint("w0-", i), "data", "m0"); err != nil {
		return err
	}
	_, err = maps.Update(ctx, object, metav1.UpdateOptions{FieldManager: "m0"})
	return err
}

func applyOnce(ctx context.Context, maps dynamic.ResourceInterface, i int) error {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "bare"},
		"data": map[string]any{"m0": fmt.Sprint("w0-", i)},
	}}
	_, err := maps.Apply(ctx, "bare", object, metav1.ApplyOptions{FieldManager: "m0"})
	return err
}
