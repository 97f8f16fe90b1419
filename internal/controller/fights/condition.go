package fights

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/contention"
)

// reasonCalm is the condition's reason when it is over.
const reasonCalm = "Calm"

// mark brings the condition of an object of ours up to date. An object that has no
// condition, and needs none, is not written to.
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
	wanted, had := condition(troubles), meta.FindStatusCondition(conditions, v1alpha1.ConditionContended)
	switch {
	case had == nil && len(troubles) == 0,
		had != nil && had.Status == wanted.Status && had.Reason == wanted.Reason && had.Message == wanted.Message:
		return nil
	}
	config, err := status(subject, conditions, wanted)
	if err != nil {
		return err
	}
	_, err = t.applier.Apply(ctx, apply.Intent{Config: config, Subresource: "status", UID: subject.UID})
	if errors.Is(err, apply.ErrUIDMismatch) { // gone meanwhile
		return nil
	}
	return err
}

// condition stays the same as long as the troubles do.
func condition(troubles []contention.Trouble) metav1.Condition {
	if len(troubles) == 0 {
		return metav1.Condition{Type: v1alpha1.ConditionContended, Status: metav1.ConditionFalse, Reason: reasonCalm,
			Message: "nobody takes a field from another any more"}
	}
	const (
		most  = 8    // are named
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
	return metav1.Condition{Type: v1alpha1.ConditionContended, Status: metav1.ConditionTrue, Reason: troubles[0].Reason,
		Message: cut(strings.Join(texts, ". "), limit)}
}

// status is the one condition, and nothing else of the object.
func status(subject apply.ObjectRef, current []metav1.Condition, wanted metav1.Condition) (runtime.ApplyConfiguration, error) {
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(subject.GroupVersionKind)
	config.SetNamespace(subject.Namespace)
	config.SetName(subject.Name)
	item, err := runtime.DefaultUnstructuredConverter.ToUnstructured(apply.Conditions(current, metav1.Now(), wanted)[0])
	if err != nil {
		return nil, err
	}
	if err := unstructured.SetNestedSlice(config.Object, []any{item}, "status", "conditions"); err != nil {
		return nil, err
	}
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
