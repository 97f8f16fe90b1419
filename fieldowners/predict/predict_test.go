package predict_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"coapply.dev/fieldowners/predict"
)

// predicted is one prediction, with objects as YAML without their envelope.
type predicted struct {
	reason  string
	kind    string // Deployment in apps/v1 if not given
	live    string
	owners  string // lines of manager/operation[subresource] fieldsV1
	intent  string
	manager string // us if not given
	sub     string
	want    string
}

// wrap completes YAML to an object.
func (p predicted) wrap(text string) (object map[string]any, err error) {
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	if object == nil {
		object = map[string]any{}
	}
	version, kind, found := strings.Cut(p.kind, " ")
	if !found {
		version, kind = "apps/v1", "Deployment"
	}
	object["apiVersion"], object["kind"] = version, kind
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["name"], object["metadata"] = "a", metadata
	return object, nil
}

func (p predicted) entries(version string) (list []any, err error) {
	for line := range strings.Lines(p.owners) {
		who, fields, _ := strings.Cut(strings.TrimSpace(line), " ")
		if who == "" {
			continue
		}
		name, operation, _ := strings.Cut(who, "/")
		operation, sub, _ := strings.Cut(strings.TrimSuffix(operation, "]"), "[")
		entry := metav1.ManagedFieldsEntry{Manager: name, Operation: metav1.ManagedFieldsOperationType(operation),
			APIVersion: version, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
		if sub, version, other := strings.Cut(sub, "@"); true {
			entry.Subresource = sub
			if other {
				entry.APIVersion = version
			}
		}
		item, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&entry)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}

func (p predicted) predict(t testing.TB) (predict.Prediction, error) {
	t.Helper()
	intent, err := p.wrap(p.intent)
	if err != nil {
		t.Fatal(err)
	}
	var live map[string]any
	if p.live != "" {
		if live, err = p.wrap(p.live); err != nil {
			t.Fatal(err)
		}
		list, err := p.entries(intent["apiVersion"].(string))
		if err != nil {
			t.Fatal(err)
		}
		live["metadata"].(map[string]any)["managedFields"] = list
	}
	liveBefore, intentBefore := runtime.DeepCopyJSON(live), runtime.DeepCopyJSON(intent)
	manager := p.manager
	if manager == "" {
		manager = "us"
	}
	prediction, err := predict.Apply(live, intent, manager, p.sub)
	if diff := cmp.Diff(liveBefore, live) + cmp.Diff(intentBefore, intent); diff != "" {
		t.Errorf("it changed what it was given:\n%s", diff)
	}
	return prediction, err
}

func (p predicted) check(t *testing.T) {
	t.Log(p.reason)
	got, err := p.predict(t)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(p.want, "\n")
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.IsEmpty() != (want == "nothing changes\n") {
		t.Errorf("IsEmpty is %v of\n%v", got.IsEmpty(), got)
	}
}

const keeper = "keeper/Apply {\"f:metadata\":{\"f:labels\":{\"f:kept\":{}}}}\n"

func TestApply(t *testing.T) {
	for _, table := range []map[string]predicted{predictions, listPredictions, doubtPredictions} {
		for name, test := range table {
			t.Run(name, func(t *testing.T) { test.check(t) })
		}
	}
}

// TestSharing: a map that may be one field or many is no more than a matter of
// who shares it while its values are the live ones.
func TestSharing(t *testing.T) {
	live := func(value string) map[string]any {
		return map[string]any{
			"apiVersion": "v1", "kind": "Service",
			"metadata": map[string]any{"name": "a", "managedFields": []any{map[string]any{
				"manager": "other", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
				"fieldsV1": map[string]any{"f:spec": map[string]any{"f:selector": map[string]any{}}},
			}}},
			"spec": map[string]any{"selector": map[string]any{"app": value}},
		}
	}
	intent := map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"selector": map[string]any{"app": "x"}},
	}
	for value, sharing := range map[string]bool{"x": true, "y": false} {
		p, err := predict.Apply(live(value), intent, "us", "")
		if err != nil || len(p.Unsure) != 1 || p.Unsure[0].Path.String() != ".spec.selector" || p.Unsure[0].Sharing != sharing {
			t.Errorf("live %s: %v\n%v", value, err, p)
		}
	}
}
