package apply

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/applyconfig"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/test/kit/samples"
)

// TestObjectOfEachType: what the fields of a configuration say of its object is what
// its JSON says, for every configuration of client-go, and so is its label.
func TestObjectOfEachType(t *testing.T) {
	fill := samples.NewFiller(1, 1)
	names := []*string{nil, new(""), new("web"), new("shop"), new("web"), new("a/b")}
	kinds, read, labelled := 0, 0, 0
	for _, of := range samples.ConfigTypes() {
		empty, isConfig := reflect.TypeAssert[runtime.ApplyConfiguration](reflect.New(of))
		if _, _, ok := applyconfig.Generated(empty); !isConfig || !ok { // options are for no object
			continue
		}
		kinds++
		for range 60 {
			value := reflect.New(of)
			fill.Fill(value.Elem(), 0)
			if status := value.Elem().FieldByName("Status"); status.IsValid() {
				status.SetZero() // an empty one is refused, which the fields do not show
			}
			config, _ := reflect.TypeAssert[runtime.ApplyConfiguration](value)
			kind, metadata, _ := applyconfig.Generated(config)
			kind.APIVersion, kind.Kind = samples.Pick(fill, new("apps/v1"), new("v1"), new("v1"), nil, new("a/b/c")), samples.Pick(fill, new("Thing"), new("Thing"), nil)
			if metadata != nil {
				metadata.Name, metadata.Namespace = samples.Pick(fill, names...), samples.Pick(fill, names...)
				if metadata.UID != nil {
					metadata.UID = new(types.UID(strings.ToValidUTF8(string(*metadata.UID), "")))
				}
				metadata.ResourceVersion = samples.Pick(fill, nil, nil, new("7"))
			}
			if sameRef(t, config) {
				read++
			}
			if sameLabel(t, config) {
				labelled++
			}
		}
	}
	if kinds < 150 || read < 300 || labelled < 300 {
		t.Errorf("%d types; %d objects read, %d labelled: too few to prove anything", kinds, read, labelled)
	}
}

// sameRef also reports whether the object was read from the fields.
func sameRef(t *testing.T, config runtime.ApplyConfiguration) bool {
	t.Helper()
	encoded, err := encode(Intent{Config: config})
	got, ok := applyconfig.RefIn(config)
	if ok && (err != nil || ObjectRef(got) != encoded.ref) {
		t.Errorf("%T: read %v, encoded %v, %v", config, got, encoded, err)
	}
	return ok
}

func sameLabel(t *testing.T, config runtime.ApplyConfiguration) bool {
	t.Helper()
	before, _ := wire.Encode(config)
	got, err := applyconfig.WithLabel(config, "a/b", "c")
	encoded, encodeErr := encode(Intent{Config: config})
	if err != nil || encodeErr != nil {
		return false
	}
	if err := unstructured.SetNestedField(encoded.Fields, "c", "metadata", "labels", "a/b"); err != nil {
		t.Fatal(err)
	}
	again, err := encode(Intent{Config: got})
	if err != nil || reflect.TypeOf(got) != reflect.TypeOf(config) {
		t.Fatalf("%T became %T: %v", config, got, err)
	}
	if diff := cmp.Diff(encoded.Fields, again.Fields); diff != "" {
		t.Errorf("%T: %s", config, diff)
	}
	if after, _ := wire.Encode(config); !bytes.Equal(before.JSON, after.JSON) {
		t.Errorf("%T was written to", config)
	}
	return true
}

type (
	word string
	// ownJSON says something else in its JSON than in its first fields.
	ownJSON struct {
		metav1ac.TypeMetaApplyConfiguration
		*metav1ac.ObjectMetaApplyConfiguration
	}
)

func (*ownJSON) IsApplyConfiguration() {}

type noFields struct{}

func (*noFields) IsApplyConfiguration() {}

// otherFields has its kind elsewhere than generated configurations.
type otherFields struct {
	Kind string `json:"kind"`
	*metav1ac.ObjectMetaApplyConfiguration
}

func (*otherFields) IsApplyConfiguration() {}

// looseConfig is somebody's own unstructured configuration.
type looseConfig struct{ *unstructured.Unstructured }

func (looseConfig) IsApplyConfiguration() {}

// ownMetadata has metadata of another type than generated configurations.
type ownMetadata struct {
	metav1ac.TypeMetaApplyConfiguration
	Metadata map[string]any `json:"metadata"`
}

func (*ownMetadata) IsApplyConfiguration() {}

func (*ownJSON) MarshalJSON() ([]byte, error) {
	return []byte(`{"apiVersion":"v1","kind":"Other","metadata":{"name":"other"}}`), nil
}

// TestObjectOfOddConfigurations: where fields do not surely say what the JSON says, the
// JSON is asked, and never is another object named.
func TestObjectOfOddConfigurations(t *testing.T) {
	odd := map[string]runtime.ApplyConfiguration{
		"its own JSON": &ownJSON{*(&metav1ac.TypeMetaApplyConfiguration{}).WithAPIVersion("v1").WithKind("Thing"),
			(&metav1ac.ObjectMetaApplyConfiguration{}).WithName("a")},
		"nothing":            nil,
		"a nil pointer":      (*corev1ac.ConfigMapApplyConfiguration)(nil),
		"no unstructured":    client.ApplyConfigurationFromUnstructured(nil),
		"no metadata":        &corev1ac.ConfigMapApplyConfiguration{},
		"a map":              &mapConfig{"apiVersion": "v1"},
		"no fields":          &noFields{},
		"other fields":       &otherFields{"Thing", metav1ac.ObjectMeta().WithName("a")},
		"a nil unstructured": (*looseConfig)(nil),
		"no pointer":         looseConfig{},
	}
	for i, metadata := range []any{
		nil, "a", map[string]string{"name": "a"}, map[string]any{"name": word("a")}, map[string]any{"name": "a", "namespace": word("b")},
		map[string]any{"name": "a", "uid": types.UID("u")}, map[string]any{"name": "a", "uid": nil}, map[string]any{"name": "a", "namespace": 3},
		map[string]any{"name": "a", "resourceVersion": "3"}, map[string]any{"name": "a", "managedFields": []any{}}, map[string]any{"name": "a", "uid": "u"},
	} {
		for j, kind := range []any{"Thing", word("Thing"), nil} {
			odd[fmt.Sprintf("unstructured %d %d", i, j)] = client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{
				Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": metadata}})
		}
	}
	for name, config := range odd {
		t.Run(name, func(t *testing.T) {
			sameRef(t, config)
			if name != "its own JSON" { // which leaves the label out, as it may
				sameLabel(t, config)
			}
			got, err := Intent{Config: config}.Object()
			encoded, want := encode(Intent{Config: config})
			if fmt.Sprint(err) != fmt.Sprint(want) || err == nil && got != encoded.ref {
				t.Errorf("got %v, %v; want %v, %v", got, err, encoded, want)
			}
		})
	}
}

// TestObjectIsCheap holds that naming an object does not encode a generated configuration.
func TestObjectIsCheap(t *testing.T) {
	config := appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3))
	for name, intent := range map[string]Intent{
		"typed":                 {Config: config},
		"with a uid":            {Config: config, UID: "u"},
		"with the uid it has":   {Config: appsv1ac.Deployment("web", "shop").WithUID("u"), UID: "u"},
		"with a uid of its own": {Config: appsv1ac.Deployment("web", "shop").WithUID("u")},
	} {
		if got := testing.AllocsPerRun(100, func() { _, _ = intent.Object() }); got > 3 {
			t.Errorf("%s: %v allocations, want 3 at most", name, got)
		}
	}
	if got := testing.AllocsPerRun(100, func() { _, _ = applyconfig.WithLabel(config, "a/b", "c") }); got > 12 {
		t.Errorf("a label takes %v allocations, want 12 at most", got)
	}
}

func TestIntentOwnerReferences(t *testing.T) {
	owner := metav1ac.OwnerReference().WithUID("u").WithName("a").WithKind("Shop").WithAPIVersion("v1")
	untyped := func(metadata map[string]any) runtime.ApplyConfiguration {
		metadata["name"] = "a"
		return client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{
			Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}})
	}
	for name, c := range map[string]struct {
		config runtime.ApplyConfiguration
		want   string // the uid of the one owner; "" if there is none, "error" if they cannot be read
	}{
		"none":                     {corev1ac.ConfigMap("a", "shop"), ""},
		"no metadata":              {&corev1ac.ConfigMapApplyConfiguration{}, ""},
		"one":                      {corev1ac.ConfigMap("a", "shop").WithOwnerReferences(owner), "u"},
		"unstructured":             {untyped(map[string]any{"ownerReferences": []any{map[string]any{"uid": "u"}}}), "u"},
		"unstructured, of Go type": {untyped(map[string]any{"ownerReferences": []map[string]string{{"uid": "u"}}}), "u"},
		"unstructured, empty":      {untyped(map[string]any{"ownerReferences": []any{}}), ""},
		"unstructured, no list":    {untyped(map[string]any{"ownerReferences": map[string]any{"uid": "u"}}), "error"},
		"unstructured, none":       {untyped(map[string]any{}), ""},
		"in metadata of its own": {&ownMetadata{*metav1ac.TypeMeta().WithAPIVersion("v1").WithKind("ConfigMap"),
			map[string]any{"name": "a", "ownerReferences": []any{map[string]any{"uid": "u"}}}}, "u"},
		"not to be read": {nil, "error"},
	} {
		got := ""
		switch owners, err := (Intent{Config: c.config}).OwnerReferences(); {
		case err != nil:
			got = "error"
		case len(owners) > 0:
			got = string(*owners[0].UID)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestIntentWithLabel adds a label that the intent does not set itself.
func TestIntentWithLabel(t *testing.T) {
	untyped := func(labels any) runtime.ApplyConfiguration {
		return client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "labels": labels}}})
	}
	for name, c := range map[string]struct {
		config runtime.ApplyConfiguration
		err    string // "": it has the label
	}{
		"typed":                      {corev1ac.ConfigMap("a", "shop"), ""},
		"typed, has it":              {corev1ac.ConfigMap("a", "shop").WithLabels(map[string]string{"part-of": "x"}), "the intent sets the label part-of itself"},
		"unstructured":               {untyped(map[string]any{"other": "x"}), ""},
		"unstructured, has it":       {untyped(map[string]any{"part-of": "x"}), "the intent sets the label part-of itself"},
		"unstructured, not of a map": {untyped("x"), "value cannot be set"},
		"nothing":                    {nil, "invalid intent"},
	} {
		got, err := Intent{Config: c.config, MustExist: true}.WithLabel("part-of", "shop")
		invalid := (*IntentError)(nil)
		if (err == nil) != (c.err == "") || err != nil && (!errors.As(err, &invalid) || strings.Count(err.Error(), "invalid intent") != 1 || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
			continue
		}
		encoded, _ := encode(got)
		if err == nil && (!got.MustExist || (&unstructured.Unstructured{Object: encoded.Fields}).GetLabels()["part-of"] != "shop") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestObjectTwoUIDs: the same object by two uids is refused as Apply refuses it.
func TestObjectTwoUIDs(t *testing.T) {
	config := corev1ac.ConfigMap("a", "shop").WithUID("one")
	if got, err := (Intent{Config: config, UID: "one"}).Object(); err != nil || got.UID != "one" {
		t.Error(got, err)
	}
	if got, err := (Intent{Config: config, UID: "two"}).Object(); err == nil {
		t.Errorf("two uids name %v", got)
	}
	if ptr.Deref(config.UID, "") != "one" {
		t.Error("the configuration was written to")
	}
}
