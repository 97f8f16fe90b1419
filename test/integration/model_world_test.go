package integration

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
)

// world is one object twice: on the API server and in the model. Every write goes
// to both.
type world struct {
	client.Client
	*model
	*tally

	key client.ObjectKey
}

// envelope gives a tree as an object with its name.
func (w *world) envelope(t tree) *unstructured.Unstructured {
	content, _ := t.build("").(map[string]any)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(w.kind.GroupVersionKind)
	u.SetNamespace(w.key.Namespace)
	u.SetName(w.key.Name)
	return u
}

func (w *world) read(ctx context.Context) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(w.kind.GroupVersionKind)
	return u, w.Get(ctx, w.key, u)
}

// foreignApply is an apply of a program that does not use package apply. The
// answers of server and model must agree.
func (w *world) foreignApply(ctx context.Context, by identity, config tree, force bool) error {
	var options []client.ApplyOption
	if force {
		options = append(options, client.ForceOwnership)
	}
	body := client.ApplyConfigurationFromUnstructured(w.envelope(config))
	var err error
	if by.Subresource == "" {
		err = w.Apply(ctx, body, append(options, client.FieldOwner(by.Name))...)
	} else {
		err = w.SubResource(by.Subresource).Apply(ctx, body, client.FieldOwner(by.Name),
			&client.SubResourceApplyOptions{ApplyOptions: *(&client.ApplyOptions{}).ApplyOptions(options)})
	}
	clashes, spoils := w.clashes(by, config), w.spoils(by, config)
	switch {
	case len(clashes) > 0 && !force:
		if !apply.IsOwnershipConflict(err) {
			return fmt.Errorf("the server says %w, the model %v", err, clashes)
		}
		w.add("foreign apply: conflict")
		return nil
	case spoils:
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("the server says %w, the model that it is invalid", err)
		}
		w.add("foreign apply: invalid")
		return nil
	}
	w.add("foreign apply: landed")
	w.model.apply(by, config)
	return err
}

// foreignUpdate is a plain write of the whole object.
func (w *world) foreignUpdate(ctx context.Context, by identity, body tree) error {
	live, err := w.read(ctx)
	if err != nil {
		return err
	}
	u := w.envelope(body)
	u.SetUID(live.GetUID())
	u.SetResourceVersion(live.GetResourceVersion())
	if by.Subresource == "" {
		err = w.Update(ctx, u, client.FieldOwner(by.Name))
	} else {
		err = w.SubResource(by.Subresource).Update(ctx, u, client.FieldOwner(by.Name))
	}
	if err == nil {
		w.add("foreign update")
		w.model.update(by, body)
	}
	return err
}

// differences compares values and owners of the live object with the model's.
func (w *world) differences(ctx context.Context) (string, error) {
	u, err := w.read(ctx)
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
	values := flatten(w.kind.shape, u.Object).values()
	return cmp.Diff(w.live.values(), values) + cmp.Diff(w.owners(), owned, cmpopts.SortSlices(strings.Compare)), nil
}

// kept is a label that one manager always owns, so that the object has managed
// fields at any time; without any, the server makes up an owner.
var kept = fields{".metadata.labels.kept": true}

func (w *world) keep(t *testing.T) {
	t.Helper()
	config := flatten(w.kind.shape, map[string]any{"metadata": map[string]any{"labels": map[string]any{"kept": "yes"}}})
	if err := w.foreignApply(t.Context(), applierOf("keeper", ""), config, false); err != nil {
		t.Fatal(err)
	}
}

// check stops the test at the first difference between server and model.
func (w *world) check(t *testing.T, step int, what string) {
	t.Helper()
	diff, err := w.differences(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Fatalf("after step %d, %s (-model +server):\n%s", step, what, diff)
	}
}

// foreignStep is a write of a program that does not use package apply.
func (w *world) foreignStep(t *testing.T, d dice) string {
	t.Helper()
	subresource := d.subresource(w.kind.shape)
	var err error
	var what string
	switch n := d.IntN(10); {
	case n < 5:
		by, config, force := applierOf(pick(d, []string{"a", "b", "foreign"}), subresource), d.config(w.kind.shape, subresource), d.chance(0.4)
		what = fmt.Sprintf("%v force %v applies %v", by, force, config.values())
		err = w.foreignApply(t.Context(), by, config, force)
	case n < 9:
		by, body := updaterOf(pick(d, []string{"a", "editor", "operator"}), subresource), d.edited(w.live, w.kind.shape, subresource, kept)
		what = fmt.Sprintf("%v makes it %v", by, body.values())
		err = w.foreignUpdate(t.Context(), by, body)
	default:
		by := applierOf(pick(d, []string{"a", "b", "foreign"}), subresource)
		what = fmt.Sprintf("%v releases", by)
		err = w.foreignApply(t.Context(), by, flatten(w.kind.shape, nil), false)
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return what
}
