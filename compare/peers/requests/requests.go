// Package requests counts what a reconcile sends that has nothing to change, while others write to the object all the
// time: each reconcile meets a resourceVersion that it has not met before.
package requests

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/compare/peers/deployment"
	"coapply.dev/compare/peers/measure"
	"coapply.dev/compare/peers/peer"
	"coapply.dev/compare/peers/world"
	"coapply.dev/compare/target"
)

// Options of the measuring.
type Options struct {
	Rounds   int
	Quick    bool
	Progress io.Writer
}

// reconciles of one peer in one round.
const reconciles, fewReconciles = 100, 10

// Measure gives the row.
func Measure(ctx context.Context, t *target.Target, options Options) ([]measure.Row, error) {
	w, err := world.Open(ctx, t)
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	row := measure.Row{
		ID: "requests", Measure: "requests per unchanged reconcile, other managers writing all the time",
		Unit: measure.Count, Must: measure.AtMost(0), Aim: measure.AtMost(0),
	}
	number := reconciles
	if options.Quick {
		number = fewReconciles
	}
	peers := peer.All()
	byPeer := make([][]float64, len(peers))
	for range options.Rounds {
		for i, p := range peers {
			counted, err := Count(ctx, w, p, number)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
			fmt.Fprintf(options.Progress, "%-32s %s\n", p.Name, counted)
			byPeer[i] = append(byPeer[i], counted.PerReconcile())
		}
	}
	for i, p := range peers {
		if p.Name == peer.Ours {
			row.Rounds = byPeer[i]
			continue
		}
		row.Peers = append(row.Peers, measure.Peer{Name: p.Name, Unit: measure.Count, Rounds: byPeer[i]})
	}
	return []measure.Row{row}, nil
}

// Counted is what the reconciles of one peer sent.
type Counted struct {
	Reconciles int
	Methods    map[string]int
	// Stale are reconciles that failed by a stale write, and would be repeated.
	Stale int
	// Foreign is how many writes the others made meanwhile.
	Foreign int64
}

// Requests of all reconciles.
func (c Counted) Requests() int {
	n := 0
	for _, count := range c.Methods {
		n += count
	}
	return n
}

// PerReconcile is the mean.
func (c Counted) PerReconcile() float64 { return float64(c.Requests()) / float64(c.Reconciles) }

func (c Counted) String() string {
	var methods []string
	for _, method := range []string{"GET", "dry run", "PATCH", "PUT", "POST"} {
		if n := c.Methods[method]; n > 0 {
			methods = append(methods, fmt.Sprintf("%d %s", n, method))
		}
	}
	if len(methods) == 0 {
		methods = []string{"nothing"}
	}
	return fmt.Sprintf("%d reconciles sent %s, %d stale; %d writes of others", c.Reconciles, strings.Join(methods, " and "), c.Stale, c.Foreign)
}

// bound of one peer's reconciles.
const bound = 2 * time.Minute

// Count has a peer reconcile a Deployment that is as it wants it.
func Count(ctx context.Context, w *world.World, p peer.Peer, number int) (Counted, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	name := "unchanged-" + fmt.Sprint(time.Now().UnixNano())
	if err := deployment.Prepare(ctx, w.Admin, w.Namespace, name, deployment.Managers, nil); err != nil {
		return Counted{}, err
	}
	defer func() { _ = deployment.Remove(context.WithoutCancel(ctx), w.Admin, w.Namespace, name) }() // its namespace goes anyway
	process, counter, err := w.Process(deployment.Workload)
	if err != nil {
		return Counted{}, err
	}
	reconcile, err := p.New(process)
	if err != nil {
		return Counted{}, err
	}
	others := w.Disturb(ctx, name)
	defer others.Stop()
	counted, version := Counted{Reconciles: number}, ""
	for range number {
		if version, err = w.Changed(ctx, name, version); err != nil {
			return counted, err
		}
		err := reconcile(ctx, deployment.Intent(w.Namespace, name, 0, deployment.Start))
		switch {
		case apierrors.IsConflict(err):
			counted.Stale++
		case err != nil:
			return counted, err
		}
	}
	counted.Methods, counted.Foreign = counter.Take(), others.Writes.Load()
	return counted, nil
}
