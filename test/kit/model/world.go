package model

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// World has one object twice: on the API server and in the model. Every write goes to both.
type World struct {
	client.Client
	*Model
	*Tally

	Key client.ObjectKey
}

// Envelope returns a tree as an unstructured object, with the kind, namespace and name of the World's object.
func (w *World) Envelope(t Tree) *unstructured.Unstructured {
	content, _ := t.Build("").(map[string]any)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(w.Kind.GroupVersionKind)
	u.SetNamespace(w.Key.Namespace)
	u.SetName(w.Key.Name)
	return u
}

func (w *World) Read(ctx context.Context) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(w.Kind.GroupVersionKind)
	return u, w.Get(ctx, w.Key, u)
}

// ForeignApply applies a configuration without package apply. It returns an error if the results of the API server and
// the model differ.
func (w *World) ForeignApply(ctx context.Context, by Identity, config Tree, force bool) error {
	err := kit.ApplyTo(ctx, w.Client, w.Envelope(config), by.Subresource, client.ApplyOptions{FieldManager: by.Name, Force: &force})
	clashes, spoils := w.Clashes(by, config), w.Spoils(by, config)
	switch {
	case len(clashes) > 0 && !force:
		if !apply.IsOwnershipConflict(err) {
			return fmt.Errorf("the API server returned %w; the model expects the conflicts %v", err, clashes)
		}
		w.Add("foreign apply: conflict")
		return nil
	case spoils:
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("the API server returned %w; the model expects the error Invalid", err)
		}
		w.Add("foreign apply: invalid")
		return nil
	}
	w.Add("foreign apply: landed")
	w.Model.Land(by, config)
	return err
}

// ForeignUpdate updates the whole object without package apply.
func (w *World) ForeignUpdate(ctx context.Context, by Identity, body Tree) error {
	live, err := w.Read(ctx)
	if err != nil {
		return err
	}
	u := w.Envelope(body)
	u.SetUID(live.GetUID())
	u.SetResourceVersion(live.GetResourceVersion())
	if by.Subresource == "" {
		err = w.Update(ctx, u, client.FieldOwner(by.Name))
	} else {
		err = w.SubResource(by.Subresource).Update(ctx, u, client.FieldOwner(by.Name))
	}
	if err == nil {
		w.Add("foreign update")
		w.Model.update(by, body)
	}
	return err
}

// Differences returns a diff between the model and the live object: their values and owners.
func (w *World) Differences(ctx context.Context) (string, error) {
	u, err := w.Read(ctx)
	if err != nil {
		return "", err
	}
	ownership, err := fieldowners.Parse(u.GetManagedFields())
	if err != nil {
		return "", err
	}
	owned := map[string][]string{}
	for _, entry := range ownership.Entries() {
		for _, path := range entry.Fields() {
			owned[entry.String()] = append(owned[entry.String()], path.String())
		}
	}
	values := Flatten(w.Kind.Shape, u.Object).Values()
	return cmp.Diff(w.Live.Values(), values) + cmp.Diff(w.Owners(), owned, cmpopts.SortSlices(strings.Compare)), nil
}

// kept is a label that one manager always owns, so that the object always has managed fields. Without managed fields,
// the API server would invent an owner (before-first-apply).
var kept = Fields{".metadata.labels.kept": true}

// Keep applies the label kept with the field manager keeper.
func (w *World) Keep(t *testing.T) {
	t.Helper()
	config := Flatten(w.Kind.Shape, map[string]any{"metadata": map[string]any{"labels": map[string]any{"kept": "yes"}}})
	if err := w.ForeignApply(t.Context(), ApplierOf("keeper", ""), config, false); err != nil {
		t.Fatal(err)
	}
}

// Check stops the test at the first difference between server and model.
func (w *World) Check(t *testing.T, step int, what string) {
	t.Helper()
	diff, err := w.Differences(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Fatalf("after step %d, %s (-model +server):\n%s", step, what, diff)
	}
}

// ForeignStep does a random write without package apply, and returns a description of the write.
func (w *World) ForeignStep(t *testing.T, d Dice) string {
	t.Helper()
	subresource := d.Subresource(w.Kind.Shape)
	var err error
	var what string
	switch n := d.IntN(10); {
	case n < 5:
		by, config, force := ApplierOf(Pick(d, []string{"a", "b", "foreign"}), subresource), d.Config(w.Kind.Shape, subresource), d.Chance(0.4)
		what = fmt.Sprintf("%v force %v applies %v", by, force, config.Values())
		err = w.ForeignApply(t.Context(), by, config, force)
	case n < 9:
		by, body := UpdaterOf(Pick(d, []string{"a", "editor", "operator"}), subresource), d.Edited(w.Live, w.Kind.Shape, subresource, kept)
		what = fmt.Sprintf("%v makes it %v", by, body.Values())
		err = w.ForeignUpdate(t.Context(), by, body)
	default:
		by := ApplierOf(Pick(d, []string{"a", "b", "foreign"}), subresource)
		what = fmt.Sprintf("%v releases", by)
		err = w.ForeignApply(t.Context(), by, Flatten(w.Kind.Shape, nil), false)
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return what
}
