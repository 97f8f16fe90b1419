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

// mark is a field that a NodeMaintenance sets on a node, with its owners: spec.unschedulable, or
// one of the platform's annotations.
type mark struct {
	annotation string // key; "" stands for spec.unschedulable
	owners     []fieldowners.Manager
}

// marksOf returns the marks that are set on a node: spec.unschedulable and our two annotations. It
// also returns a spec.unschedulable of false that our field manager owns. This remains if an uncordon
// took the field from another manager and ended before the release; only the managed fields show it.
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

// applied reports whether our field manager owns the field by Apply. Then a release removes the field.
func (m mark) applied() bool {
	return slices.ContainsFunc(m.owners, func(owner fieldowners.Manager) bool {
		return owner.Name == fieldmanagers.NodeMaintenance && owner.Operation == metav1.ManagedFieldsOperationApply
	})
}

// foreign returns the owners of the field, by Apply or Update, other than our field manager.
func (m mark) foreign() []string {
	var names []string
	for _, owner := range m.owners {
		if owner.Name != fieldmanagers.NodeMaintenance {
			names = append(names, owner.String())
		}
	}
	return names
}

// mayTake reports whether an Uncordon may take ownership of the field in order to remove it: if no
// other manager owns the field, or if force is true and the field is spec.unschedulable.
func (m mark) mayTake(force bool) bool {
	return len(m.foreign()) == 0 || force && m.annotation == ""
}

// wanted reports whether a node is already cordoned as this NodeMaintenance requires: it has all
// marks, and our field manager owns them by Apply, so that an Uncordon can release them.
func wanted(node *corev1.Node, marks []mark, work *v1alpha1.NodeMaintenance) bool {
	return node.Spec.Unschedulable &&
		node.Annotations[Annotation] == work.Name &&
		node.Annotations[ReasonAnnotation] == work.Spec.Reason &&
		!slices.ContainsFunc(marks, func(m mark) bool { return !m.applied() })
}

// heldError is an ownership conflict: an Uncordon cannot remove fields of a node that other managers own.
type heldError struct {
	node  string
	marks []mark
	again bool // a retry may succeed: the marks can be taken, but reappeared after every step
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

// Unwrap returns apply.ErrConflict.
func (e *heldError) Unwrap() error { return apply.ErrConflict }

// held returns the error of an Uncordon that could not remove these marks.
func held(node string, marks []mark, force bool) error {
	kept := slices.DeleteFunc(slices.Clone(marks), func(m mark) bool { return m.mayTake(force) })
	if len(kept) == 0 {
		return &heldError{node: node, marks: marks, again: true}
	}
	return &heldError{node: node, marks: kept}
}

// mayPass reports whether a retry may succeed after this error.
func mayPass(err error) bool {
	h, isHeld := errors.AsType[*heldError](err)
	return isHeld && h.again || errors.Is(err, apply.ErrRetryable) || errors.Is(err, apply.ErrContended)
}

// cordon returns the intent that cordons a node and sets our annotations. The intent has the uid of
// the node that was read, so that it cannot create a node that was deleted since.
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

// take returns an intent that makes our field manager the only owner of these fields. A release
// then removes the fields from the node.
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
