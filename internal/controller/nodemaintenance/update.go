package nodemaintenance

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply/update"
)

// updating is the fallback: get-modify-update, with update.Exponential. Only stale
// writes are retried, and a node that is rewritten without a pause fails after four
// attempts. It takes a field from whoever owns it and tells nobody.
type updating struct{ updater *update.Updater }

// do gives the name alone, so that the first attempt reads live too. The object is
// unstructured: a PUT of a Go type drops what a newer server's nodes have beside it.
func (u updating) do(ctx context.Context, work *v1alpha1.NodeMaintenance, name string) outcome {
	node := &unstructured.Unstructured{}
	node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	node.SetName(name)
	result, err := update.Do(ctx, u.updater, node, func(node *unstructured.Unstructured) error {
		return modify(node, work)
	})
	done := outcome{attempts: result.Attempts, err: err, final: true}
	interrupted := (*update.InterruptedError)(nil)
	switch {
	case err == nil && !result.Changed && result.StaleWrites == 0:
		done.attempts = 0
	case apierrors.IsNotFound(err):
		done.err = errNotFound
	case errors.As(err, &interrupted), err != nil && ctx.Err() != nil:
		done.final = false
	}
	return done
}

// modify is idempotent, and changes nothing of a node that is as it should be.
func modify(node *unstructured.Unstructured, work *v1alpha1.NodeMaintenance) error {
	wanted := map[string]string{}
	if work.Spec.Action == v1alpha1.Cordon {
		wanted[Annotation], wanted[ReasonAnnotation] = work.Name, work.Spec.Reason
		if err := unstructured.SetNestedField(node.Object, true, "spec", "unschedulable"); err != nil {
			return fmt.Errorf("spec: %w", err)
		}
	} else {
		unstructured.RemoveNestedField(node.Object, "spec", "unschedulable")
	}
	annotations := node.GetAnnotations()
	for _, name := range []string{Annotation, ReasonAnnotation} {
		if wanted[name] == "" {
			delete(annotations, name)
			continue
		}
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[name] = wanted[name]
	}
	node.SetAnnotations(annotations)
	return nil
}
