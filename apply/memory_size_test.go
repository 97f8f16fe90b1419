package apply

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/fieldowners"
)

// TestMemoryIsSmall holds what is remembered of 4,096 objects, each with 2 KB of managed
// fields of its own: a few answers, and not who owns what.
func TestMemoryIsSmall(t *testing.T) {
	relinquishMany(t, "other") // fills what fieldowners keeps of what it parsed
	before := heap()
	a := relinquishMany(t, "web")
	held := int64(heap()) - int64(before)
	t.Logf("%d objects are remembered in %.1f MiB", rememberedObjects, float64(held)/(1<<20))
	if held > 8<<20 {
		t.Errorf("%d bytes are held for %d objects, want 8 MiB at most", held, rememberedObjects)
	}
	runtime.KeepAlive(a)
}

// relinquishMany gives an applier that gave way in as many objects as it remembers.
func relinquishMany(t *testing.T, names string) *Applier {
	t.Helper()
	a := newShopApplier(t, &shopCache{})
	a.config.Policy = OnConflict(Relinquish)
	var fields strings.Builder
	for i := range 60 {
		fmt.Fprintf(&fields, `,"f:annotation-%d-of-%%[1]s":{}`, i)
	}
	for n := range rememberedObjects {
		name := fmt.Sprintf("%s-%d", names, n)
		live := unstructuredOf(t, &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: types.UID(name), ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "autoscaler", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1", FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:metadata":{"f:annotations":{".":{}`+fields.String()+`}},"f:spec":{"f:replicas":{}}}`, name)),
			}}},
		})
		live.Object["spec"] = map[string]any{"replicas": int64(7)}
		encoded, err := encode(Intent{Config: appsv1ac.Deployment(name, "shop").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3))})
		if err != nil {
			t.Fatal(err)
		}
		_, c := a.begin(t.Context())
		c.about(encoded)
		gave := concessions{}.concede(Conflict{
			Manager: fieldowners.Manager{Name: "autoscaler", Operation: metav1.ManagedFieldsOperationApply},
			Path:    fieldowners.MustParsePath(".spec.replicas"), ServerPath: ".spec.replicas", Decision: Relinquish,
		}, encoded, &live)
		settled, still := c.stillCalledFor(settlement{concessions: gave}, &live)
		if !still {
			t.Fatal("the replicas are not the autoscaler's")
		}
		c.rememberAs(settled.concessions, live.GetUID())
	}
	return a
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what a pool holds goes at the second
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
