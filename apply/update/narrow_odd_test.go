package update

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sorted is a list that its Go type reads in another order than it has.
type sorted []string

func (s *sorted) UnmarshalJSON(raw []byte) error {
	err := utiljson.Unmarshal(raw, (*[]string)(s))
	slices.Sort(*s)
	return err
}

// distinct is a list that its Go type reads without what is there twice in turn.
type distinct []string

func (d *distinct) UnmarshalJSON(raw []byte) error {
	err := utiljson.Unmarshal(raw, (*[]string)(d))
	*d = slices.Compact(*d)
	return err
}

type sorting struct {
	thing

	Names    sorted         `json:"names,omitempty"`
	Byte     map[int]string `json:"byte,omitempty"`
	Distinct distinct       `json:"distinct,omitempty"`
	Free     map[string]any `json:"free,omitempty"`
	Share    float64        `json:"share,omitempty"`
}

func (s *sorting) DeepCopyObject() runtime.Object {
	copied := *s
	return &copied
}

// TestNarrowRefuses: what cannot be carried over is an error, not another change.
func TestNarrowRefuses(t *testing.T) {
	for reason, c := range map[string]struct {
		live   string
		change func(*sorting)
		want   string
	}{
		"items in another order":  {`{"names":["c","a","b"]}`, func(s *sorting) { s.Names = s.Names[:2] }, "*update.sorting"},
		"keys in another form":    {`{"byte":{"01":"x","2":"y"}}`, func(s *sorting) { delete(s.Byte, 1) }, "*update.sorting"},
		"what JSON does not have": {`{}`, func(s *sorting) { s.Share = math.NaN() }, "json: unsupported value: NaN"},
	} {
		live := &unstructured.Unstructured{Object: parsed(t, c.live).(map[string]any)}
		before, after := &sorting{}, &sorting{}
		for _, into := range []client.Object{before, after} {
			if err := decode(live, into); err != nil {
				t.Fatal(err)
			}
		}
		c.change(after)
		if wanted, err := (narrowing{schema: unknownSchema}).narrow(live, before, after); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v", reason, wanted, err)
		}
	}
}

// TestRefusedIsNotWritten: nothing is sent of what cannot be carried over, nor of what cannot be read.
func TestRefusedIsNotWritten(t *testing.T) {
	for live, want := range map[string]string{
		`{"names":["c","a","b"]}`: "ns/x: nothing was written: the changes that mutate made cannot be located", `{"names":5}`: "ns/x: decoding the object into *update.sorting",
	} {
		u, err := New(Config{Client: reading{live: live}, LiveReader: reading{live: live}, FieldManager: "test"})
		if err != nil {
			t.Fatal(err)
		}
		name := &sorting{}
		name.SetNamespace("ns")
		name.SetName("x")
		_, err = Do(t.Context(), u, name, func(s *sorting) error { s.Names = s.Names[:2]; return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", live, err, want)
		}
	}
}

// reading gives an object, and whoever writes by it panics.
type reading struct {
	client.Client

	live string
}

func (reading) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Sorting"}, nil
}

func (r reading) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	return utiljson.Unmarshal([]byte(r.live), &object.(*unstructured.Unstructured).Object)
}

// TestNarrowOdd has types whose values are not as JSON has them.
func TestNarrowOdd(t *testing.T) {
	for reason, c := range map[string]struct {
		live   string
		change func(*sorting)
		want   string
	}{
		"a list of which Go has fewer items": {`{"distinct":["a","a","b"]}`, func(s *sorting) { s.Distinct = append(s.Distinct, "c") }, `{"distinct":["a","b","c"]}`},
		"a map of anything": {`{"free":{"a":{"b":1},"l":[1]}}`, func(s *sorting) {
			s.Free = map[string]any{"a": map[string]any{"b": int64(2)}, "l": []any{int64(1), int64(2)}}
		}, `{"free":{"a":{"b":2},"l":[1,2]}}`},
	} {
		live := &unstructured.Unstructured{Object: parsed(t, c.live).(map[string]any)}
		before, after := &sorting{}, &sorting{}
		for _, into := range []client.Object{before, after} {
			if err := decode(live, into); err != nil {
				t.Fatal(err)
			}
		}
		c.change(after)
		wanted, err := narrowing{schema: unknownSchema}.narrow(live, before, after)
		if err != nil {
			t.Errorf("%s: %v", reason, err)
			continue
		}
		if diff := cmp.Diff(parsed(t, c.want), any(wanted.Object)); diff != "" {
			t.Errorf("%s: -want +got\n%s", reason, diff)
		}
	}
}

// TestNarrowUnstructured: null is a value, and a field goes without what Go knows of it.
func TestNarrowUnstructured(t *testing.T) {
	of := func(text string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: parsed(t, text).(map[string]any)}
	}
	live := `{"apiVersion":"v1","kind":"X","spec":{"a":1,"m":{"b":1}}}`
	want := of(`{"apiVersion":"v1","kind":"X","spec":{"a":1,"n":null}}`)
	got, err := narrowing{schema: unknownSchema}.narrow(of(live), of(live), want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
