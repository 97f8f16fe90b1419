package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// reasonCalm is the condition's reason when all troubles are over.
const reasonCalm = "Calm"

// mark brings the condition of a parent up to date. A parent without troubles that has no
// condition is not written to.
func (t *teller) mark(ctx context.Context, subject apply.ObjectRef, troubles []contention.Trouble) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(subject.GroupVersionKind)
	err := t.live.Get(ctx, subject.NamespacedName, live)
	switch {
	case apierrors.IsNotFound(err), err == nil && live.GetUID() != subject.UID:
		return nil
	case err != nil:
		return fmt.Errorf("reading the conditions of %v: %w", subject, err)
	}
	conditions, err := conditionsOf(live)
	if err != nil {
		return fmt.Errorf("reading the conditions of %v: %w", subject, err)
	}
	wanted, had := condition(troubles), meta.FindStatusCondition(conditions, contention.Condition)
	switch {
	case had == nil && len(troubles) == 0,
		had != nil && had.Status == wanted.Status && had.Reason == wanted.Reason && had.Message == wanted.Message:
		return nil
	}
	config, err := status(subject, conditions, wanted)
	if err != nil {
		return err
	}
	intent := apply.Intent{Config: config, Subresource: "status", UID: subject.UID}
	if may, err := t.mayMark(ctx, intent, subject.GroupKind()); !may {
		return err
	}
	_, err = t.applier.Apply(ctx, intent)
	if errors.Is(err, apply.ErrUIDMismatch) { // gone meanwhile
		return nil
	}
	return err
}

// mayMark reports whether objects of a kind can have the condition beside others. The server is
// asked once, by a dry run; if not, the log says why.
func (t *teller) mayMark(ctx context.Context, intent apply.Intent, kind schema.GroupKind) (bool, error) {
	if may, known := t.marks.Load(kind); known {
		return may.(bool), nil
	}
	plan, err := t.applier.Plan(ctx, intent)
	switch {
	case errors.Is(err, apply.ErrUIDMismatch): // gone meanwhile
		return false, nil
	case err != nil && !errors.Is(err, apply.ErrRefused):
		return false, err
	}
	may := err == nil && slices.ContainsFunc(plan.Changes, func(change fieldowners.Change) bool { return change.Path.HasPrefix(ownItem) }) &&
		!slices.ContainsFunc(plan.Taken, func(taken fieldowners.Moved) bool { return !taken.Path.HasPrefix(ownItem) }) &&
		!slices.ContainsFunc(plan.Gained, func(path fieldowners.Path) bool { return ownItem.HasPrefix(path) && !path.Equal(ownItem) })
	if !may {
		logr.FromContextOrDiscard(ctx).Info("objects of this kind get no condition "+contention.Condition+", only events: it takes a status "+
			"subresource whose conditions are a list of listType map by type, and the right to patch it", "kind", kind.String(), "error", err)
	}
	t.marks.Store(kind, may)
	return may, nil
}

// ownItem is the path of the condition in a list that is a map by type.
var ownItem = fieldowners.MustParsePath(`.status.conditions[type="` + contention.Condition + `"]`)

// condition returns the condition for troubles. It stays the same as long as they do.
func condition(troubles []contention.Trouble) metav1.Condition {
	if len(troubles) == 0 {
		return metav1.Condition{Type: contention.Condition, Status: metav1.ConditionFalse, Reason: reasonCalm,
			Message: "nobody takes a field from another any more"}
	}
	const (
		most  = 8    // how many troubles are named
		limit = 4096 // bytes; of a field whose name is huge it says a part (32 KiB is what a condition may have)
	)
	var texts []string
	for i, trouble := range troubles {
		if i == most {
			texts = append(texts, fmt.Sprintf("and %d more", len(troubles)-most))
			break
		}
		texts = append(texts, trouble.String())
	}
	return metav1.Condition{Type: contention.Condition, Status: metav1.ConditionTrue, Reason: troubles[0].Reason,
		Message: cut(strings.Join(texts, ". "), limit)}
}

// status returns a configuration with this condition and nothing else.
func status(subject apply.ObjectRef, current []metav1.Condition, wanted metav1.Condition) (runtime.ApplyConfiguration, error) {
	config := wire.Named(subject.GroupVersionKind, subject.NamespacedName)
	item, err := runtime.DefaultUnstructuredConverter.ToUnstructured(apply.Conditions(current, metav1.Now(), wanted)[0])
	if err != nil {
		return nil, err
	}
	config.Object["status"] = map[string]any{"conditions": []any{item}}
	return client.ApplyConfigurationFromUnstructured(config), nil
}

func conditionsOf(object *unstructured.Unstructured) ([]metav1.Condition, error) {
	var read struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read)
	return read.Status.Conditions, err
}
