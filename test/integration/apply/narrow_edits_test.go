package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// narrowEdit is one change, once as a Go program makes it and once as it is on the wire.
// The second is written without any knowledge of the first: it says what a narrow write
// has to send.
type narrowEdit struct {
	what  string
	typed func(client.Object)
	wire  func(map[string]any)
}

// narrowEdits makes an edit of an object as it was read; nil: there is nothing to edit.
type narrowEdits func(r *rand.Rand, object client.Object) *narrowEdit

// fields gives access to a gadget of either version.
func (g *gadget[V]) fields() (*gadgetSpec, *gadgetStatus) { return &g.Spec, &g.Status }

func specOf(object client.Object) *gadgetSpec {
	spec, _ := object.(interface {
		fields() (*gadgetSpec, *gadgetStatus)
	}).fields()
	return spec
}

func statusOf(object client.Object) *gadgetStatus {
	_, status := object.(interface {
		fields() (*gadgetSpec, *gadgetStatus)
	}).fields()
	return status
}

func editSpec(what string, typed func(*gadgetSpec), wire func(spec map[string]any)) *narrowEdit {
	return &narrowEdit{what, func(o client.Object) { typed(specOf(o)) }, func(raw map[string]any) { wire(below(raw, "spec")) }}
}

// below gives the map of that name, and makes it where there is none.
func below(raw map[string]any, names ...string) map[string]any {
	for _, name := range names {
		child, ok := raw[name].(map[string]any)
		if !ok {
			child = map[string]any{}
			raw[name] = child
		}
		raw = child
	}
	return raw
}

// drop deletes a name from a map below, and the map with its last.
func drop(raw map[string]any, of, name string) {
	child := below(raw, of)
	if delete(child, name); len(child) == 0 {
		delete(raw, of)
	}
}

func items(raw map[string]any, name string) []any {
	list, _ := raw[name].([]any)
	return slices.Clone(list)
}

// setItems writes a list; the Go types leave out an empty one.
func setItems(raw map[string]any, name string, list []any) {
	if raw[name] = list; len(list) == 0 {
		delete(raw, name)
	}
}

// newQuantity is one that no object has yet.
func newQuantity(r *rand.Rand) resource.Quantity {
	return resource.MustParse(fmt.Sprintf("%d", 1000001+r.IntN(1000)*2))
}

var gadgetEdits = []narrowEdits{
	func(r *rand.Rand, o client.Object) *narrowEdit {
		n := int32(r.IntN(3))
		return editSpec("replicas", func(s *gadgetSpec) { s.Replicas = n }, func(raw map[string]any) {
			if n == specOf(o).Replicas {
				return
			}
			if raw["replicas"] = int64(n); n == 0 {
				delete(raw, "replicas")
			}
		})
	},
	func(r *rand.Rand, o client.Object) *narrowEdit {
		n := int32(r.IntN(3))
		return editSpec("weight", func(s *gadgetSpec) { s.Weight = n }, func(raw map[string]any) {
			if n != specOf(o).Weight {
				raw["weight"] = int64(n)
			}
		})
	},
	func(r *rand.Rand, o client.Object) *narrowEdit {
		if r.IntN(3) == 0 && len(specOf(o).Notes) > 0 {
			return editSpec("notes to nothing", func(s *gadgetSpec) { s.Notes = nil }, func(raw map[string]any) { raw["notes"] = nil })
		}
		return editSpec("a note", func(s *gadgetSpec) { s.Notes = append(s.Notes, "ours") }, func(raw map[string]any) {
			raw["notes"] = append(items(raw, "notes"), "ours")
		})
	},
	func(r *rand.Rand, o client.Object) *narrowEdit {
		q, amounts := newQuantity(r), specOf(o).Amounts
		if r.IntN(2) == 0 && len(amounts) > 0 {
			name := slices.Min(slices.Collect(maps.Keys(amounts)))
			return editSpec("an amount less", func(s *gadgetSpec) { delete(s.Amounts, name) }, func(raw map[string]any) { drop(raw, "amounts", name) })
		}
		return editSpec("an amount", func(s *gadgetSpec) {
			if s.Amounts == nil {
				s.Amounts = map[string]resource.Quantity{}
			}
			s.Amounts["ours"] = q
		}, func(raw map[string]any) { below(raw, "amounts")["ours"] = q.String() })
	},
	func(r *rand.Rand, o client.Object) *narrowEdit {
		if specOf(o).Limit != nil && r.IntN(2) == 0 {
			same := resource.MustParse(specOf(o).Limit.String())
			return editSpec("the same limit", func(s *gadgetSpec) { s.Limit = &same }, func(map[string]any) {})
		}
		q := newQuantity(r)
		return editSpec("limit", func(s *gadgetSpec) { s.Limit = &q }, func(raw map[string]any) { raw["limit"] = q.String() })
	},
	func(r *rand.Rand, _ client.Object) *narrowEdit {
		d := metav1.Duration{Duration: time.Duration(5+r.IntN(50)) * time.Hour}
		return editSpec("timeout", func(s *gadgetSpec) { s.Timeout = &d }, func(raw map[string]any) { raw["timeout"] = d.Duration.String() })
	},
	func(_ *rand.Rand, o client.Object) *narrowEdit {
		if specOf(o).Since != nil {
			return editSpec("no since", func(s *gadgetSpec) { s.Since = nil }, func(raw map[string]any) { delete(raw, "since") })
		}
		at := metav1.Date(2025, 5, 5, 5, 5, 5, 0, time.UTC)
		return editSpec("since", func(s *gadgetSpec) { s.Since = &at }, func(raw map[string]any) { raw["since"] = "2025-05-05T05:05:05Z" })
	},
	func(r *rand.Rand, _ client.Object) *narrowEdit {
		if r.IntN(2) == 0 {
			return editSpec("port by name", func(s *gadgetSpec) { s.Port = new(intstr.FromString("ours")) }, func(raw map[string]any) { raw["port"] = "ours" })
		}
		return editSpec("port", func(s *gadgetSpec) { s.Port = new(intstr.FromInt32(4711)) }, func(raw map[string]any) { raw["port"] = int64(4711) })
	},
	func(r *rand.Rand, o client.Object) *narrowEdit { return editInner(r, "inner", &specOf(o).Inner) },
	func(r *rand.Rand, o client.Object) *narrowEdit { return editInner(r, "zeroable", &specOf(o).Zeroable) },
	func(r *rand.Rand, o client.Object) *narrowEdit {
		if specOf(o).Pointed != nil && r.IntN(3) == 0 {
			return editSpec("pointed to nothing", func(s *gadgetSpec) { s.Pointed = nil }, func(raw map[string]any) { delete(raw, "pointed") })
		}
		return editInner(r, "pointed", specOf(o).Pointed)
	},
	func(_ *rand.Rand, o client.Object) *narrowEdit {
		if len(specOf(o).Template.Raw) == 0 {
			return nil
		}
		return editSpec("the embedded object", func(s *gadgetSpec) {
			var object map[string]any
			if err := json.Unmarshal(s.Template.Raw, &object); err != nil {
				panic(err)
			}
			below(object, "data")["ours"] = "1"
			encoded, err := json.Marshal(object)
			if err != nil {
				panic(err)
			}
			s.Template = runtime.RawExtension{Raw: encoded}
		}, func(raw map[string]any) { below(raw, "template", "data")["ours"] = "1" })
	},
	func(r *rand.Rand, o client.Object) *narrowEdit {
		return editParts(r, "parts", len(specOf(o).Parts), func(s *gadgetSpec) *[]gadgetPart { return &s.Parts })
	},
	func(r *rand.Rand, o client.Object) *narrowEdit {
		return editParts(r, "steps", len(specOf(o).Steps), func(s *gadgetSpec) *[]gadgetPart { return &s.Steps })
	},
	editEndpoints,
	func(r *rand.Rand, o client.Object) *narrowEdit {
		tags := specOf(o).Tags
		if len(tags) > 0 && r.IntN(2) == 0 {
			i := r.IntN(len(tags))
			return editSpec("a tag less", func(s *gadgetSpec) { s.Tags = slices.Delete(slices.Clone(s.Tags), i, i+1) }, func(raw map[string]any) {
				setItems(raw, "tags", slices.Delete(items(raw, "tags"), i, i+1))
			})
		}
		return editSpec("a tag", func(s *gadgetSpec) { s.Tags = append([]string{"ours"}, s.Tags...) }, func(raw map[string]any) {
			raw["tags"] = append([]any{"ours"}, items(raw, "tags")...)
		})
	},
}
