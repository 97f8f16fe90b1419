package workloads

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
)

// userNamespace is a workload in which several reconcilers look for the same namespace at the same time. None of them
// finds the namespace, so all of them try to create it.
func userNamespace() compare.Workload {
	return compare.Workload{
		Name:          "user-namespace",
		Summary:       "in each round, all reconcilers ensure the same new namespace at once, each with an annotation of its own",
		Demonstration: true,
		Defaults:      compare.Parameters{Writers: 10, Objects: 5, Managers: 10, Rounds: 5},
		Fixed:         []string{"objects", "managers", "warmup", "duration"},
		Arms:          []string{"naive", "gmu-default-retry", "ssa", "apply"},
		Local:         true, // on a cluster of the user, the writers have no right to create namespaces
		Prepare: func(_ context.Context, stage compare.Stage) (compare.Run, error) {
			kind := compare.Kind{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Namespace"), Resource: "namespaces", Cluster: true}
			return &namespaces{ofKind{stage, kind}, newGate(stage.Writers)}, nil
		},
	}
}

const ownerLabel = domain + "owner"

type namespaces struct {
	ofKind

	gate *gate
}

func (r *namespaces) name(round int) string { return inTrial(r.stage, fmt.Sprintf("user-%d", round)) }

// Next returns an intent that ensures the namespace of the round. Each writer has a field manager of its own.
func (r *namespaces) Next(_ context.Context, writer, round int) (compare.Intent, bool, error) {
	r.gate.arrive(writer, round-1)
	own, value, owner := ownAnnotation(writer), uniqueValue(writer, round), r.name(round)
	modify := func(o *unstructured.Unstructured) error {
		return errors.Join(
			unstructured.SetNestedField(o.Object, owner, "metadata", "labels", ownerLabel),
			unstructured.SetNestedField(o.Object, value, "metadata", "annotations", own),
		)
	}
	return compare.Intent{
		Writer: writer, Sequence: round,
		Kind: r.kind.GroupVersionKind, Name: r.name(round), Manager: managerName(writer),
		Wants:     map[string]string{ownerLabel: owner, own: value},
		Configure: configured(modify),
		Modify:    modify,
		Creates:   true,
		Pause:     func(ctx context.Context) error { return r.gate.pass(ctx, writer, round) },
	}, true, nil
}

func (r *namespaces) Fields(o *unstructured.Unstructured) map[string]string {
	if !r.has(o, "user-") {
		return nil
	}
	fields := ownAnnotations(o)
	if owner, found := o.GetLabels()[ownerLabel]; found {
		fields[ownerLabel] = owner
	}
	return fields
}
