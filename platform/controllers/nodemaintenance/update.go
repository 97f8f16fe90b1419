package nodemaintenance

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/update"
	"coapply.dev/platform/api/v1alpha1"
)

// updating implements the strategy Update, the fallback. It cordons and uncordons nodes by get-modify-update. Only
// stale writes are retried, with the back-off update.Exponential. The node fails after four stale writes. Unlike an
// apply, an update has no ownership conflicts and overwrites fields of other field managers.
type updating struct {
	live    client.Reader
	updater *update.Updater
}

// do cordons or uncordons the node called name. All attempts read the node live, and not from a cache.
func (u updating) do(ctx context.Context, work *v1alpha1.NodeMaintenance, name string) outcome {
	result, err := update.Do(ctx, u.updater, emptyNode(name), func(node *unstructured.Unstructured) error {
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
	case errors.Is(err, apply.ErrRetryable):
		return u.lookUp(ctx, work, name, done)
	}
	return done
}

// lookUp reads the node to find out whether a write without a response took effect. Failed reads are retried. The node
// succeeds if it is in the desired state, and fails otherwise. If ctx ends before a read succeeds, the outcome is not
// final, and the next wave works on the node again.
func (u updating) lookUp(ctx context.Context, work *v1alpha1.NodeMaintenance, name string, done outcome) outcome {
	for backoff := retryBackoff(); ; {
		node := emptyNode(name)
		err := u.live.Get(ctx, client.ObjectKey{Name: name}, node)
		switch {
		case apierrors.IsNotFound(err):
			done.err = errNotFound
			return done
		case err == nil:
			wanted := node.DeepCopy()
			if modify(wanted, work) == nil && equality.Semantic.DeepEqual(node, wanted) {
				done.err = nil
			}
			return done
		}
		if pause(ctx, backoff.Step()); ctx.Err() != nil {
			done.final = false
			return done
		}
	}
}

func emptyNode(name string) *unstructured.Unstructured {
	node := &unstructured.Unstructured{}
	node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	node.SetName(name)
	return node
}

// modify sets or removes the fields of the node as the action of the NodeMaintenance requires.
func modify(node *unstructured.Unstructured, work *v1alpha1.NodeMaintenance) error {
	wanted := map[string]string{}
	if work.Spec.Action == v1alpha1.Cordon {
		wanted[Annotation], wanted[ReasonAnnotation] = work.Name, work.Spec.Reason
		if err := unstructured.SetNestedField(node.Object, true, "spec", "unschedulable"); err != nil {
			return fmt.Errorf("setting spec.unschedulable: %w", err)
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
