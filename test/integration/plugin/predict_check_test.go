package plugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/predict"
	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// trial is one intent, predicted and tried on the API server.
type trial struct {
	manager, subresource string
	live, intent, forced *unstructured.Unstructured
	causes               []metav1.StatusCause // of an apply without force
	predicted            predict.Prediction
	before, after        fieldowners.Ownership
	stored               map[string]any // what the server makes of some of our values
}

// newTrial asks both. err is the server's refusal of the forced apply, if any.
func newTrial(ctx context.Context, c client.Client, live, intent *unstructured.Unstructured, manager, subresource string) (t *trial, err error) {
	t = &trial{manager: manager, subresource: subresource, live: live, intent: intent}
	if t.predicted, err = predict.Apply(live.Object, intent.Object, manager, subresource); err != nil {
		return nil, fmt.Errorf("predicting: %w", err)
	}
	if _, err = dryRun(ctx, c, intent, manager, subresource, false); err != nil {
		var status *apierrors.StatusError
		if errors.As(err, &status) && status.ErrStatus.Details != nil && status.ErrStatus.Reason == metav1.StatusReasonConflict {
			t.causes = status.ErrStatus.Details.Causes
		}
	}
	if t.forced, err = dryRun(ctx, c, intent, manager, subresource, true); err != nil {
		return nil, err
	}
	if t.before, err = fieldowners.Parse(live.GetManagedFields()); err == nil {
		t.after, err = fieldowners.Parse(t.forced.GetManagedFields())
	}
	return t, err
}

func dryRun(ctx context.Context, c client.Client, intent *unstructured.Unstructured, manager, subresource string, force bool) (*unstructured.Unstructured, error) {
	answer := intent.DeepCopy() // the client writes the answer into it
	return answer, kit.ApplyTo(ctx, c, answer, subresource, client.ApplyOptions{FieldManager: manager, Force: &force, DryRun: []string{metav1.DryRunAll}})
}

// sure tells whether the prediction has no doubt at a place, as the server and as
// we write it.
func (t *trial) sure(path, serverPath string) bool {
	for _, d := range t.predicted.Unsure {
		if model.Within(path, d.Path.String()) || model.Within(serverPath, d.Path.ServerString()) {
			return false
		}
	}
	return true
}

func (t *trial) isUs(m fieldowners.Manager) bool {
	return m.Name == t.manager && m.Operation == "Apply" && m.Subresource == t.subresource
}

// difference tells what the prediction and the server do not agree about.
func (t *trial) difference() string {
	return cmp.Diff(t.serverConflicts(), t.conflicts()) + cmp.Diff(t.serverOwners(), t.owners()) + t.values()
}

func (t *trial) conflicts() []string {
	var all []string
	for _, c := range t.predicted.Conflicts {
		m := c.Owner
		message := fmt.Sprintf("conflict with %q", m.Name)
		if m.Subresource != "" {
			message += fmt.Sprintf(" with subresource %q", m.Subresource)
		}
		if m.Operation == "Update" {
			message += " using " + m.APIVersion
		}
		all = append(all, c.Path.ServerString()+": "+message)
	}
	slices.Sort(all)
	return all
}

func (t *trial) serverConflicts() []string {
	var all []string
	for _, cause := range t.causes {
		if t.sure(cause.Field, cause.Field) {
			all = append(all, cause.Field+": "+cause.Message)
		}
	}
	slices.Sort(all)
	return all
}

// owners are the predicted fields that we share and drop.
func (t *trial) owners() []string {
	var all []string
	for _, o := range t.predicted.Shared {
		all = append(all, "shared "+o.String())
	}
	for _, d := range t.predicted.Dropped {
		all = append(all, fmt.Sprint("dropped ", d.Path, d.KeptBy))
	}
	slices.Sort(all)
	return all
}

// serverOwners are the same from what the managed fields before and after tell.
func (t *trial) serverOwners() []string {
	var all []string
	others := func(path fieldowners.Path) []fieldowners.Manager {
		return slices.DeleteFunc(t.after.OwnersOf(path), t.isUs)
	}
	difference := fieldowners.Diff(t.before, t.after)
	for _, o := range difference.Gained {
		for _, other := range others(o.Path) {
			if t.isUs(o.Manager) && t.sure(o.Path.String(), o.Path.ServerString()) {
				all = append(all, "shared "+fieldowners.Owned{Path: o.Path, Manager: other}.String())
			}
		}
	}
	for _, o := range difference.Lost {
		_, listed := o.Path.Value(t.intent.Object)
		if t.isUs(o.Manager) && !listed && t.sure(o.Path.String(), o.Path.ServerString()) {
			all = append(all, fmt.Sprint("dropped ", o.Path, append([]fieldowners.Manager(nil), others(o.Path)...)))
		}
	}
	slices.Sort(all)
	return all
}

// values compares every changed value with what was predicted of it. Items of lists
// are named in both as the managed fields before name them.
func (t *trial) values() string {
	predicted, found := map[string]string{}, map[string]string{}
	foreseen := map[string]any{}
	for _, c := range t.predicted.Changes {
		if _, stored := c.Path.Value(t.forced.Object); isEmpty(c.After) && !stored && !c.Existed {
			continue // the server leaves out some that are empty
		}
		predicted[c.Path.String()], foreseen[c.Path.String()] = c.String(), c.After
	}
	for _, c := range fieldowners.Changes(tracked(t.live), tracked(t.forced), t.before) {
		if !t.sure(c.Path.String(), c.Path.ServerString()) || t.told(c) {
			continue
		}
		if c.Exists && filledIn(foreseen[c.Path.String()], c.After) {
			c.After = foreseen[c.Path.String()]
		}
		found[c.Path.String()] = c.String()
	}
	for _, c := range t.predicted.Conflicts {
		want := c.Ours
		if stored, other := t.stored[c.Path.String()]; other {
			want = stored
		}
		if now, _ := c.Path.Value(t.forced.Object); !filledIn(want, now) {
			found["conflict "+c.Path.String()] = fmt.Sprint(now)
		}
	}
	for _, d := range t.predicted.Dropped {
		// A value that nobody owns any more and that stands there is a default.
		if _, stays := d.Path.Value(t.forced.Object); stays == d.Removed && (!stays || len(t.after.OwnersOf(d.Path)) > 0) {
			found["dropped "+d.Path.String()] = fmt.Sprint("stays: ", stays)
		}
	}
	return cmp.Diff(found, predicted)
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil
}

// filledIn tells whether a value is another one, perhaps with the server's defaults
// in the items of lists.
func filledIn(value, filled any) bool {
	switch x := value.(type) {
	case map[string]any:
		y, _ := filled.(map[string]any)
		for name, v := range x {
			if other, has := y[name]; !has || !filledIn(v, other) {
				return false
			}
		}
		return true
	case []any:
		y, _ := filled.([]any)
		return slices.EqualFunc(x, y, filledIn)
	}
	return reflect.DeepEqual(value, filled)
}

// told says whether a change stands among the predicted conflicts or what goes.
func (t *trial) told(change fieldowners.Change) bool {
	return slices.ContainsFunc(t.predicted.Conflicts, func(c predict.Conflict) bool { return change.Path.HasPrefix(c.Path) }) ||
		slices.ContainsFunc(t.predicted.Dropped, func(d predict.Dropped) bool { return d.Removed && change.Path.HasPrefix(d.Path) })
}

// tracked leaves out what belongs to no manager.
func tracked(u *unstructured.Unstructured) any {
	object := u.DeepCopy()
	for _, name := range []string{"managedFields", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(object.Object, "metadata", name)
	}
	return object.Object
}

// doubts counts the reasons, without the names in them.
func (t *trial) doubts() []string {
	var reasons []string
	for _, d := range t.predicted.Unsure {
		reason, _, _ := strings.Cut(d.Reason, ";")
		reasons = append(reasons, "doubt: "+reason)
	}
	return reasons
}

// prediction counts what was predicted.
func prediction(c *model.Tally, try *trial) {
	p := try.predicted
	c.Add("intents")
	if len(p.Unsure) == 0 {
		c.Add("intents without doubt")
	}
	for _, reason := range try.doubts() {
		c.Add(reason)
	}
	for range p.Conflicts {
		c.Add("conflicts")
	}
	for range p.Shared {
		c.Add("shared")
	}
	for range p.Changes {
		c.Add("changes")
	}
	for _, d := range p.Dropped {
		if d.Removed {
			c.Add("dropped and gone")
		} else {
			c.Add("dropped and kept")
		}
	}
}
