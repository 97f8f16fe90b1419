package steady

import (
	"encoding/json"
	"math/big"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// bigSample is a configuration of somebody's own. Its count writes itself, by a method of
// the pointer, and shows no field.
type bigSample struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		Count *big.Int `json:"count"`
	} `json:"spec"`
}

func (*bigSample) IsApplyConfiguration() {}

func (s *bigSample) GetName() *string { return &s.Metadata.Name }

func (s *bigSample) GetNamespace() *string { return &s.Metadata.Namespace }

func (s *bigSample) GetKind() *string { return &s.Kind }

func (s *bigSample) GetAPIVersion() *string { return &s.APIVersion }

// TestSteadyHiddenValue: a value that writes itself is sent when it changes.
func TestSteadyHiddenValue(t *testing.T) {
	t.Parallel()
	config := steadyConfig(t)
	c := newOlderClient(t, config) // its scheme has the group
	applier, err := apply.New(c, apply.Config{FieldManager: kit.OurManager, LiveReader: c, Steady: kit.NewSteadyState(t, config, c)})
	if err != nil {
		t.Fatal(err)
	}
	name := client.ObjectKey{Namespace: kit.NewNamespace(t, kit.NewClient(t, config)), Name: "big"}
	read := kit.NewUnstructured(steadySample.GroupVersion().String(), steadySample.Kind, name)
	intent := &bigSample{APIVersion: read.GetAPIVersion(), Kind: read.GetKind()}
	intent.Metadata.Name, intent.Metadata.Namespace = name.Name, name.Namespace
	for _, step := range []struct {
		count int64
		want  apply.Action
	}{{1, apply.Created}, {1, apply.Unchanged}, {2, apply.Configured}, {2, apply.Unchanged}, {1, apply.Configured}} {
		intent.Spec.Count = big.NewInt(step.count)
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: intent})
		if err != nil || outcome.Action != step.want {
			t.Errorf("%d: %+v, %v, want it %s", step.count, outcome, err, step.want)
		}
		if err := c.Get(t.Context(), name, read); err != nil {
			t.Fatal(err)
		}
		if count, _, err := unstructured.NestedInt64(read.Object, "spec", "count"); err != nil || count != step.count {
			raw, jsonErr := json.Marshal(intent)
			t.Errorf("%s, %v: the object has %d, %v", raw, jsonErr, count, err)
		}
	}
}
