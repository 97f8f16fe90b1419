package compare

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"coapply.dev/compare"
	"coapply.dev/compare/statistics"
	"coapply.dev/compare/target"
	"coapply.dev/test/kit"
)

// overheadTime is how long either side of a pair writes.
const overheadTime = 400 * time.Millisecond

// BenchmarkGeneratorOverhead shows what the benchmark costs beside a bare loop over client-go: one writer, one object.
// They run in turns, and the ratio is that of intents a second with its 95 % interval. The bare loop has no oracle and counts
// nothing; the ratio is to stay within 5 % of 1. It has a watch beside it, as the writers of every controller have; what the
// API server's work for that watch costs shows in unwatched-ratio. -benchtime=20x or more is the number of turns.
func BenchmarkGeneratorOverhead(b *testing.B) {
	on, err := target.On(b.Context(), kit.Cluster(b), io.Discard) // whose etcd waits for the disk, as in a run
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
	}{{"gmu-default-retry", getModifyUpdate}, {"ssa", applyOnce}} {
		b.Run(loop.arm, func(b *testing.B) {
			var alone, watched, within []float64
			for b.Loop() {
				alone = append(alone, bareLoop(b, maps, loop.write))
				unwatch := watchAll(b, on)
				watched = append(watched, bareLoop(b, maps, loop.write))
				unwatch()
				trial := runTrial(b, on, hotTrial(b, loop.arm, len(alone), func(p *compare.Parameters) {
					p.Writers, p.Managers, p.Warmup, p.Duration = 1, 1, overheadTime/10, overheadTime
				})).Trial
				within = append(within, float64(trial.Timed.Landed)/trial.Measured.Seconds())
			}
			reportRatio(b, "", within, watched)
			reportRatio(b, "unwatched-", within, alone)
			b.ReportMetric(watched[len(watched)-1], "bare-intents/s")
		})
	}
}

func reportRatio(b *testing.B, name string, within, bare []float64) {
	b.Helper()
	ratio, err := statistics.Paired(within, bare)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(ratio.Ratio, name+"ratio")
	if ratio.Lo != 0 {
		b.ReportMetric(ratio.Lo, name+"ratio-lo")
		b.ReportMetric(ratio.Hi, name+"ratio-hi")
	}
}

// watchAll has a client read every version of the ConfigMaps, and do nothing with them, until it is told to end.
func watchAll(b *testing.B, on *target.Target) (end func()) {
	b.Helper()
	config := on.User()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	url := config.Host + "/api/v1/namespaces/" + on.Namespace() + "/configmaps?watch=true"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	response, err := httpClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(io.Discard, response.Body) })
	return func() {
		cancel()
		reading.Wait()
		_ = response.Body.Close()
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
