package workloads

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// pilotRounds are uncordoned by plain get-modify-update to measure the window.
const pilotRounds = 3

// measureWindow gives the mean time between the read and the write of an attempt, as the server sees it, with as many
// operators at once as the trial has. They cordon and wait as in the trial: that decides how busy the server is.
func (r *uncordon) measureWindow(ctx context.Context) (time.Duration, error) {
	var sum, count atomic.Int64
	err := together(ctx, len(r.nodes), func(ctx context.Context, i int) error {
		for round := range pilotRounds {
			if err := r.cordon(ctx, i, -1-round, r.nodes[i]); err != nil {
				return err
			}
			window, err := r.pilot(ctx, i, -1-round)
			if err != nil {
				return fmt.Errorf("measuring the window on node %s: %w", r.nodes[i], err)
			}
			sum.Add(int64(window))
			count.Add(1)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return time.Duration(sum.Load() / count.Load()), nil
}

// pilot uncordons a node and gives the window of the attempt that landed.
func (r *uncordon) pilot(ctx context.Context, writer, round int) (time.Duration, error) {
	intent := r.intent(writer, round)
	r.stage.Note(intent)
	for {
		window, err := plainAttempt(ctx, r.stage, intent.Name, intent.Modify)
		if !apierrors.IsConflict(err) {
			return window, err
		}
	}
}

// plainAttempt reads a node and writes it once. The window goes from the middle of the read to the middle of the write,
// which is when the server does the work, and holds a round trip of the trial's.
func plainAttempt(
	ctx context.Context, stage compare.Stage, name string, modify func(*unstructured.Unstructured) error,
) (window time.Duration, err error) {
	node := &unstructured.Unstructured{}
	node.SetAPIVersion("v1")
	node.SetKind("Node")
	began := time.Now()
	if err := stage.Admin.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return 0, err
	}
	read := time.Now()
	if err := modify(node); err != nil {
		return 0, err
	}
	if !sleepUntil(ctx, time.Now().Add(stage.RTT)) {
		return 0, context.Cause(ctx)
	}
	sent := time.Now()
	err = stage.Admin.Update(ctx, node, client.FieldOwner("canary"))
	return read.Sub(began)/2 + sent.Sub(read) + time.Since(sent)/2, err
}
