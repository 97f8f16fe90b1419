package nodemaintenance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

// mark is a field that a cordon sets on a node, with the owners of this field. The field is
// spec.unschedulable or one of our two annotations.
type mark struct {
	annotation string // the key of the annotation; "" for spec.unschedulable
	owners     []fieldowners.Manager
}

// marksOf returns the fields that an Uncordon must remove from a node: spec.unschedulable if it is true, and our
// annotations if they are set. It also returns spec.unschedulable with the value false if our field manager has
// applied this value. An interrupted Uncordon leaves this value (see take).
func marksOf(node *corev1.Node) ([]mark, error) {
	ownership, unread := fieldowners.ParseReadable(node.ManagedFields)
	for _, entry := range unread {
		if entry.Manager == fieldmanagers.NodeMaintenance {
			return nil, fmt.Errorf("reading the managed fields of node %s: %w", node.Name, entry)
		}
	}
	var marks []mark
	for _, annotation := range []string{"", Annotation, ReasonAnnotation} {
		m := mark{annotation: annotation}
		m.owners = ownership.OwnersOf(m.path())
		_, stands := node.Annotations[annotation]
		if stands || annotation == "" && node.Spec.Unschedulable || m.applied() {
			marks = append(marks, m)
		}
	}
	return marks, nil
}

func (m mark) path() fieldowners.Path {
	if m.annotation == "" {
		return fieldowners.MustParsePath(".spec.unschedulable")
	}
	return fieldowners.MustParsePath(fmt.Sprintf(".metadata.annotations[%q]", m.annotation))
}

// applied reports whether our field manager owns the field by Apply. If so, releasing the fields of
// our field manager removes the field from the node, unless another owner has it.
func (m mark) applied() bool {
	return slices.ContainsFunc(m.owners, func(owner fieldowners.Manager) bool {
		return owner.Name == fieldmanagers.NodeMaintenance && owner.Operation == metav1.ManagedFieldsOperationApply
	})
}

// foreign returns the field managers, other than ours, that own the field by Apply or by Update.
func (m mark) foreign() []string {
	var names []string
	for _, owner := range m.owners {
		if owner.Name != fieldmanagers.NodeMaintenance {
			names = append(names, owner.String())
		}
	}
	return names
}

// mayTake reports whether an Uncordon may take ownership of the field in order to remove it. This is allowed if no
// other field manager owns the field. With spec.force, it is always allowed for spec.unschedulable.
func (m mark) mayTake(force bool) bool {
	return len(m.foreign()) == 0 || force && m.annotation == ""
}

// wanted reports whether this NodeMaintenance has already cordoned the node. The fields must have the desired values.
// Our field manager must have applied all of them, because otherwise an Uncordon could not release them.
func wanted(node *corev1.Node, marks []mark, work *v1alpha1.NodeMaintenance) bool {
	return node.Spec.Unschedulable &&
		node.Annotations[Annotation] == work.Name &&
		node.Annotations[ReasonAnnotation] == work.Spec.Reason &&
		!slices.ContainsFunc(marks, func(m mark) bool { return !m.applied() })
}

// heldError is the error of an Uncordon that cannot remove fields of a node, because other field
// managers or another NodeMaintenance have set them. It wraps apply.ErrConflict.
type heldError struct {
	node  string
	marks []mark
	again bool // a retry may succeed: the Uncordon is allowed to remove the fields, but another writer set them again each time
}

func (e *heldError) Error() string {
	var parts []string
	for _, m := range e.marks {
		what, owners := "cannot remove "+m.path().String(), strings.Join(m.foreign(), ", ")
		if m.annotation == "" {
			what = "cannot set " + m.path().String() + " to false"
		}
		if owners == "" {
			owners = fieldmanagers.NodeMaintenance + ", for another NodeMaintenance"
		}
		parts = append(parts, what+": owned by "+owners)
	}
	return fmt.Sprintf("%v on Node %s: %s %s", apply.ErrConflict, e.node, fieldmanagers.NodeMaintenance, strings.Join(parts, "; "))
}

// Unwrap returns apply.ErrConflict, so that errors.Is finds it.
func (e *heldError) Unwrap() error { return apply.ErrConflict }

// held returns the heldError of an Uncordon that could not remove the given fields. The error lists the fields that the
// Uncordon may not take. If the Uncordon may take every field, the error lists all fields, and a retry may succeed.
func held(node string, marks []mark, force bool) error {
	kept := slices.DeleteFunc(slices.Clone(marks), func(m mark) bool { return m.mayTake(force) })
	if len(kept) == 0 {
		return &heldError{node: node, marks: marks, again: true}
	}
	return &heldError{node: node, marks: kept}
}

// mayPass reports whether an error is transient, so that another attempt may succeed.
func mayPass(err error) bool {
	h, isHeld := errors.AsType[*heldError](err)
	return isHeld && h.again || errors.Is(err, apply.ErrRetryable) || errors.Is(err, apply.ErrContended)
}

// cordon returns the intent that makes a node unschedulable and sets our annotations. The intent contains the uid of
// the node. Without the uid, an apply after the deletion of the node would create the node again.
func cordon(node *corev1.Node, work *v1alpha1.NodeMaintenance) apply.Intent {
	annotations := map[string]string{Annotation: work.Name}
	if work.Spec.Reason != "" {
		annotations[ReasonAnnotation] = work.Spec.Reason
	}
	config := corev1ac.Node(node.Name).
		WithAnnotations(annotations).
		WithSpec(corev1ac.NodeSpec().WithUnschedulable(true))
	return apply.Intent{Config: config, UID: node.UID}
}

// take returns an intent that makes our field manager the only owner of the given fields. The intent sets
// spec.unschedulable to false, and annotations to the empty string. A later release removes the fields.
func take(node *corev1.Node, marks []mark) apply.Intent {
	config := corev1ac.Node(node.Name)
	for _, m := range marks {
		if m.annotation == "" {
			config.WithSpec(corev1ac.NodeSpec().WithUnschedulable(false))
		} else {
			config.WithAnnotations(map[string]string{m.annotation: ""})
		}
	}
	return apply.Intent{Config: config, UID: node.UID}
}
