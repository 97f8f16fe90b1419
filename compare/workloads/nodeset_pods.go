package workloads

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// found creates the pods that a set has at the start of a round. It waits until these pods are in the arm's cache, so that the
// only staleness in a round comes from its two reconciles, which both read before either writes.
func (r *nodesets) found(ctx context.Context, round int) error {
	before, _ := r.sizes(round)
	for ordinal := range before {
		intent := r.pod(-1, round, ordinal)
		if !r.shrinks(round) {
			r.stage.Note(intent)
		}
		// Pods are forbidden until the new namespace has its default service account, a moment after its creation.
		err := wait.PollUntilContextTimeout(ctx, nodePoll, patience, true, func(ctx context.Context) (bool, error) {
			err := own(ctx, r.stage, r.kind, intent.Name, "", intent.Manager, intent.Configure(nil))
			if apierrors.IsForbidden(err) {
				return false, nil
			}
			return err == nil, err
		})
		if err != nil {
			return err
		}
	}
	r.rounds.Store(int64(round) + 1)
	if r.cache() == nil {
		return nil
	}
	return wait.PollUntilContextTimeout(ctx, time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		pods, err := r.pods(ctx, r.cache())
		return len(pods[r.set(round)]) == before, err
	})
}

// pods returns the pods of the trial that are not being deleted, by the name of their set.
func (r *nodesets) pods(ctx context.Context, from client.Reader) (map[string][]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(r.kind.GroupVersionKind)
	if err := from.List(ctx, list, client.InNamespace(r.stage.Namespace), client.HasLabels{compare.NodeSetLabel}); err != nil {
		return nil, err
	}
	sets := map[string][]unstructured.Unstructured{}
	for _, pod := range list.Items {
		set := pod.GetLabels()[compare.NodeSetLabel]
		if strings.HasPrefix(set, inTrial(r.stage, "")) && pod.GetDeletionTimestamp() == nil {
			sets[set] = append(sets[set], pod)
		}
	}
	return sets, nil
}

// Finish returns mean numbers of pods per round, such as the surplus pods after growing and the missing pods after
// shrinking.
func (r *nodesets) Finish(ctx context.Context) (map[string]float64, error) {
	sets, err := r.pods(ctx, r.stage.Admin)
	if err != nil {
		return nil, fmt.Errorf("counting pods: %w", err)
	}
	var grown, shrunk, duplicates, missing, gone float64
	for round := range int(r.rounds.Load()) {
		_, wanted := r.sizes(round)
		surplus := float64(len(sets[r.set(round)]) - wanted)
		if r.shrinks(round) {
			shrunk++
			gone += max(0, -surplus)
			continue
		}
		grown++
		duplicates += max(0, surplus)
		missing += max(0, -surplus)
	}
	counted := map[string]float64{}
	if grown > 0 {
		counted["duplicates_per_round"], counted["missing_per_round"] = duplicates/grown, missing/grown
	}
	if shrunk > 0 {
		counted["deleted_too_many_per_round"] = gone / shrunk
	}
	return counted, nil
}
