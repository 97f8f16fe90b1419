package workloads

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
)

// nodesetScale is a workload in which two reconciles scale one set of pods after both have read the same outdated cache.
func nodesetScale() compare.Workload {
	return compare.Workload{
		Name: "nodeset-scale",
		Summary: "two reconciles of one set of pods both see 2 of 5 pods and create the missing ones; arms that count pods also " +
			"scale from 5 pods down to 3 in every other round; arms with deterministic names do not count, and only scale up",
		Demonstration: true,
		Defaults:      compare.Parameters{Writers: 2, Objects: 1, Managers: 1, Rounds: 6},
		Fixed:         []string{"objects", "managers", "rate", "warmup", "duration"},
		Arms:          []string{"naive", "expectations", "ssa", "apply"},
		Prepare:       prepareNodeset,
	}
}

const (
	nodesetManager  = "nodeset"
	nodesetReplicas = 5 // number of pods after growing
	nodesetSeen     = 2 // number of pods before growing
	nodesetShrunk   = 3 // number of pods after shrinking from 5
)

// nodesets is a trial of the workload nodeset-scale. Each round uses a new set of pods.
type nodesets struct {
	ofKind

	rounds atomic.Int64 // number of rounds that have begun
	gate   *gate        // steps of round r: 2r: its pods exist; 2r+1: all writers have read
}

func prepareNodeset(_ context.Context, stage compare.Stage) (compare.Run, error) {
	kind := compare.Kind{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Resource: "pods"}
	return &nodesets{ofKind: ofKind{stage, kind}, gate: newGate(stage.Writers)}, nil
}

func (r *nodesets) set(round int) string {
	if r.shrinks(round) {
		return inTrial(r.stage, fmt.Sprintf("shrink-%d", round))
	}
	return inTrial(r.stage, fmt.Sprintf("grow-%d", round))
}

// counts reports whether the arm creates or deletes pods according to their current number. Only such an arm can shrink a set.
func (r *nodesets) counts() bool { return r.stage.Arm == "naive" || r.stage.Arm == "expectations" }

func (r *nodesets) shrinks(round int) bool { return r.counts() && round%2 == 1 }

// sizes returns the number of pods before and after a round.
func (r *nodesets) sizes(round int) (before, after int) {
	if r.shrinks(round) {
		return nodesetReplicas, nodesetShrunk
	}
	return nodesetSeen, nodesetReplicas
}

func (r *nodesets) Next(ctx context.Context, writer, round int) (compare.Intent, bool, error) {
	if writer == 0 {
		if err := r.found(ctx, round); err != nil {
			return compare.Intent{}, false, err
		}
	}
	if err := r.gate.pass(ctx, writer, 2*round); err != nil {
		return compare.Intent{}, false, err
	}
	_, replicas := r.sizes(round)
	pause := func(ctx context.Context) error { return r.gate.pass(ctx, writer, 2*round+1) }
	intent := compare.Intent{
		Writer: writer, Sequence: round, Kind: r.kind.GroupVersionKind,
		Namespace: r.stage.Namespace, Name: r.set(round), Manager: nodesetManager, Replicas: replicas, Pause: pause,
	}
	for ordinal := range replicas {
		intent.Parts = append(intent.Parts, r.pod(writer, round, ordinal))
	}
	intent.Parts[0].Pause = pause
	return intent, true, nil
}

// pod returns the intent of one pod. It is the same for all writers, so the second writer finds nothing to do.
func (r *nodesets) pod(writer, round, ordinal int) compare.Intent {
	modify := func(o *unstructured.Unstructured) error {
		if err := unstructured.SetNestedField(o.Object, r.set(round), "metadata", "labels", compare.NodeSetLabel); err != nil {
			return err
		}
		if o.GetUID() != "" { // the pod exists: its spec does not change
			return nil
		}
		o.Object["spec"] = map[string]any{
			"schedulerName": "none", // only the number of pods counts
			"containers":    []any{map[string]any{"name": "pause", "image": "pause"}},
		}
		return nil
	}
	return compare.Intent{
		Writer: writer, Sequence: round, Kind: r.kind.GroupVersionKind,
		Namespace: r.stage.Namespace, Name: fmt.Sprintf("%s-%d", r.set(round), ordinal), Manager: nodesetManager,
		Wants:     map[string]string{compare.NodeSetLabel: r.set(round)},
		Configure: configured(modify), Modify: modify, Creates: true,
	}
}

// Fields implements compare.Run. It tracks only pods with deterministic names in sets that grow. Other pods are
// counted by Finish.
func (r *nodesets) Fields(o *unstructured.Unstructured) map[string]string {
	set := o.GetLabels()[compare.NodeSetLabel]
	if !strings.HasPrefix(set, inTrial(r.stage, "grow-")) {
		return nil
	}
	ordinal := strings.TrimPrefix(o.GetName(), set+"-")
	if !slices.Contains([]string{"0", "1", "2", "3", "4"}, ordinal) {
		return nil
	}
	return map[string]string{compare.NodeSetLabel: set}
}
