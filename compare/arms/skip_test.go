package arms

import (
	"context"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// Arms that compare before they write send nothing when nothing changes, and say so.
func TestNothingToWriteIsSkipped(t *testing.T) {
	for name, want := range map[string]bool{"gmu-requeue": true, "naive": false, "patch-lock": false} {
		writes := 0
		arm, _ := compare.Catalogue{Arms: All()}.Arm(name)
		writer, err := arm.New(refusing(0, &writes))
		if err != nil {
			t.Fatal(err)
		}
		intent := oneKey("")
		intent.Modify = func(*unstructured.Unstructured) error { return nil }
		receipt, err := writer.Write(t.Context(), intent)
		if err != nil || receipt.Skipped != want || (writes == 0) != want {
			t.Errorf("%s: skipped is %v after %d writes, want %v; error %v", name, receipt.Skipped, writes, want, err)
		}
	}
}

// sharing is a cache that hands out its own object, as one with UnsafeDisableDeepCopy does.
type sharing struct {
	client.Reader

	object map[string]any
}

func (s sharing) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	object.(*unstructured.Unstructured).Object = s.object
	return nil
}

// The arm has to be as careless as those who forget to copy: what it changes without success stands in the cache, and
// the next one finds nothing to write.
func TestRequeueDoesNotCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		writes := 0
		session := refusing(5, &writes)
		session.Cache = sharing{object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "default", "uid": "1"},
		}}
		if receipt, err := gmuRequeue(session).Write(t.Context(), oneKey("1")); err != nil || !receipt.Skipped || writes != 1 {
			t.Errorf("%+v after %d writes, error %v; want it to believe in what it left in the cache", receipt, writes, err)
		}
	})
}
