package apply

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// narrowOdd is the spec of a gadget in spellings that no Go program writes, with
// everything that its Go type hides or lacks. owner names items of lists.
func narrowOdd(r *rand.Rand, owner string) map[string]any {
	odd := func(texts ...any) any { return texts[r.IntN(len(texts))] }
	inner := func() map[string]any {
		return some(r, map[string]any{"mode": odd("", "a"), "size": odd("1024Mi", "1000m", "0.5", int64(3)), "flag": odd(true, false), "future": "f"})
	}
	part := func(name string) any {
		item := some(r, map[string]any{"size": odd("1024Mi", "1000m", "1.50", int64(2)), "on": odd(true, false), "wait": odd("90s", "0s", "60m"), "future": "f-" + name})
		item["name"] = name
		return item
	}
	endpoint := func(port int64, protocol string) any {
		item := some(r, map[string]any{"rate": odd("1000m", int64(5)), "comment": odd("", "c"), "future": "f"})
		item["port"], item["protocol"] = port, protocol
		return item
	}
	return some(r, map[string]any{
		"replicas":  odd(int64(0), int64(1), int64(2)),
		"weight":    odd(int64(0), int64(1)),
		"notes":     odd([]any{}, []any{"n"}, []any{"n", "n"}),
		"amounts":   map[string]any{"cpu-" + owner: odd("1000m", "0.5", int64(2)), "memory-" + owner: odd("1024Mi", "1Gi", "1e3")},
		"limit":     odd("1000m", "1024Ki", "1e3", "1E3", int64(7), "2"),
		"timeout":   odd("90s", "1h0m0s", "60m"),
		"since":     odd("2024-01-01T02:00:00+02:00", "2024-01-01T00:00:00.25Z", "2024-01-01T00:00:00Z"),
		"port":      odd("80", int64(80), "http"),
		"future":    odd("", "f"),
		"inner":     inner(),
		"zeroable":  inner(),
		"pointed":   inner(),
		"template":  map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x", "creationTimestamp": nil}, "data": map[string]any{"n": "1.0"}, "zero": int64(0)},
		"anything":  map[string]any{"deep": []any{map[string]any{"n": 1.5, "empty": map[string]any{}}, "1000m"}},
		"parts":     []any{part(owner + "-b"), part(owner + "-a")},
		"endpoints": []any{endpoint(53, "UDP"), endpoint(53, "TCP")},
		"steps":     []any{part("one"), part("two"), part("three")},
		"tags":      []any{"z-" + owner, "a-" + owner},
	})
}

// some leaves out a third of the fields.
func some(r *rand.Rand, fields map[string]any) map[string]any {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if r.IntN(3) == 0 {
			delete(fields, name)
		}
	}
	return fields
}

func narrowOddStatus(r *rand.Rand) map[string]any {
	return some(r, map[string]any{
		"phase":  "Odd",
		"used":   map[string]any{"cpu": "1000m", "memory": "1024Mi"},
		"seen":   "2024-01-01T02:00:00+02:00",
		"future": "f",
		"conditions": []any{
			map[string]any{"type": "Odd0", "status": "True", "reason": "Odd", "message": "", "lastTransitionTime": "2024-01-01T02:00:00+02:00", "observedGeneration": int64(0), "future": "f"},
			map[string]any{"type": "Odd1", "status": "False", "reason": "Odd", "message": "", "lastTransitionTime": "2024-01-01T00:00:00.5Z"},
		},
	})
}

// narrowKind is a kind that the property is tried on.
type narrowKind struct {
	kinds  []schema.GroupVersionKind // its versions
	odd    func(r *rand.Rand, owner string) map[string]any
	edits  []narrowEdits
	status []narrowEdits
}

var gadgetKind = narrowKind{
	kinds: []schema.GroupVersionKind{gadgetGroup.WithKind("Gadget"), {Group: gadgetGroup.Group, Version: "v2", Kind: "Gadget"}},
	odd: func(r *rand.Rand, owner string) map[string]any {
		return map[string]any{"spec": narrowOdd(r, owner), "metadata": map[string]any{"annotations": map[string]any{owner: "1.0"}}}
	},
	edits:  append(slices.Clone(gadgetEdits), metadataEdits...),
	status: statusEdits,
}

// narrowBase is what one of the other owners writes.
type narrowBase struct {
	name   string
	apply  bool
	kind   schema.GroupVersionKind
	object map[string]any
	status map[string]any // in a write of its own; nil: none
}

// narrowWorld is one object with its owners.
type narrowWorld struct {
	t       *testing.T
	c       client.Client
	schemas schemasOf
	r       *rand.Rand
	kind    schema.GroupVersionKind
	key     client.ObjectKey
}

// schemasOf is update.Config.Schemas.
type schemasOf = func(context.Context, schema.GroupVersion) (managedfields.TypeConverter, error)

func newNarrowWorld(t *testing.T, c client.Client, schemas schemasOf, r *rand.Rand, kind narrowKind, key client.ObjectKey) (*narrowWorld, error) {
	w := &narrowWorld{t, c, schemas, r, kind.kinds[r.IntN(len(kind.kinds))], key}
	for i := range 1 + r.IntN(3) {
		name := fmt.Sprintf("owner-%d", i)
		base := narrowBase{name: name, apply: r.IntN(3) > 0, kind: kind.kinds[r.IntN(len(kind.kinds))], object: kind.odd(r, name)}
		if kind.status != nil && r.IntN(2) == 0 {
			base.status = narrowOddStatus(r)
		}
		if err := w.write(base, i == 0); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return w, nil
}

func (w *narrowWorld) named(kind schema.GroupVersionKind, content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(w.key.Namespace)
	object.SetName(w.key.Name)
	return object
}

// write is what one of the other owners does.
func (w *narrowWorld) write(base narrowBase, first bool) error {
	ctx, owner := w.t.Context(), client.FieldOwner(base.name)
	object := w.named(base.kind, base.object)
	var err error
	switch {
	case base.apply:
		err = w.c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), owner, client.ForceOwnership)
	case first:
		err = w.c.Create(ctx, object.DeepCopy(), owner)
	default:
		live := w.named(base.kind, map[string]any{})
		if err = w.c.Get(ctx, w.key, live); err == nil {
			for _, part := range []string{"spec", "data"} {
				added, _ := base.object[part].(map[string]any)
				if len(added) > 0 {
					maps.Copy(below(live.Object, part), added)
				}
			}
			err = w.c.Update(ctx, live, owner)
		}
	}
	if err != nil || base.status == nil {
		return err
	}
	status := w.named(base.kind, map[string]any{"status": base.status})
	if base.apply {
		return w.c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(status), owner, client.ForceOwnership)
	}
	live := w.named(base.kind, map[string]any{})
	if err := w.c.Get(ctx, w.key, live); err != nil {
		return err
	}
	live.Object["status"] = base.status
	return w.c.Status().Update(ctx, live, owner)
}

func (w *narrowWorld) read() (*unstructured.Unstructured, error) {
	live := w.named(w.kind, map[string]any{})
	return live, w.c.Get(w.t.Context(), w.key, live)
}

// narrowText gives what two writes of the same must have in common: all but the
// resourceVersion and the times of managed fields entries.
func narrowText(object *unstructured.Unstructured) (content, owners string) {
	bare := object.DeepCopy()
	var entries []string
	for _, entry := range bare.GetManagedFields() {
		entries = append(entries, entryText(entry))
	}
	slices.Sort(entries)
	bare.SetManagedFields(nil)
	bare.SetResourceVersion("")
	encoded, err := bare.MarshalJSON()
	if err != nil {
		panic(err)
	}
	return string(encoded), strings.Join(entries, "\n")
}

func entryText(entry metav1.ManagedFieldsEntry) string {
	return fmt.Sprintf("%s %s %s %q: %s", entry.Manager, entry.Operation, entry.APIVersion, entry.Subresource, entry.FieldsV1.GetRawBytes())
}
