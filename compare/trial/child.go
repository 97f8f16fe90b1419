package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/rest"

	"coapply.dev/compare"
)

// Command is the name of the hidden subcommand of compare that calls Serve.
const Command = "writers"

// Serve is the main loop of a child process: until the input ends, it reads trials and runs its share of their writers.
func Serve(ctx context.Context, catalogue compare.Catalogue, in io.Reader, out io.Writer) error {
	orders, failed := make(chan order), make(chan error, 1)
	go func() {
		defer close(orders)
		for lines := json.NewDecoder(in); ; {
			var o order
			if err := lines.Decode(&o); err != nil {
				failed <- err
				return
			}
			orders <- o
		}
	}()
	answers := json.NewEncoder(out)
	for o := range orders {
		if o.Trial == nil { // a stop order that came after the trial had ended
			continue
		}
		t, err := attach(ctx, catalogue, *o.Trial)
		if err != nil {
			err = answers.Encode(answer{Error: err.Error()})
		} else {
			err = errors.Join(answers.Encode(answer{}), answers.Encode(t.serve(ctx, orders)))
		}
		if err != nil {
			return fmt.Errorf("sending a result to the parent process: %w", err)
		}
	}
	if err := <-failed; !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading a command from the parent process: %w", err)
	}
	return nil
}

// attach returns a trial that the parent process has prepared. This process makes its discovery requests as the
// benchmark's user. These requests are not counted in the measurements.
func attach(ctx context.Context, catalogue compare.Catalogue, a assignment) (*trial, error) {
	arm, knownArm := catalogue.Arm(a.Arm)
	workload, knownWorkload := catalogue.Workload(a.Cell.Workload)
	if !knownArm || !knownWorkload || workload.Attach == nil {
		return nil, fmt.Errorf("the writer process has no arm %s or no workload %s, or Workload.Attach is nil", a.Arm, a.Cell.Workload)
	}
	user := &rest.Config{Host: a.Host, BearerToken: a.Token, TLSClientConfig: a.TLS, QPS: -1}
	t := newTrial(place{admin: user, user: user, namespace: a.Namespace}, Spec{Cell: a.Cell, Arm: arm, Workload: workload, Seed: a.Seed, Cached: a.Cached})
	t.process = a.Process
	t.log.began = t.log.began.Add(a.Began.Sub(t.log.began)) // keeps the reading of this process's monotonic clock
	var err error
	if t.session, err = newSession(t.place, a.Cell.RTT); err != nil {
		return nil, err
	}
	err = guard("workload "+workload.Name, func() error {
		t.run = workload.Attach(t.stage(a.Prefix))
		return nil
	})
	if err == nil {
		err = bounded(ctx, prepareBound, t.startArm)
	}
	if err != nil {
		t.session.close()
	}
	return t, err
}

// serve waits for the order to start, and runs the writers of this process.
func (t *trial) serve(ctx context.Context, orders <-chan order) answer {
	defer t.session.close()
	defer t.endCache()
	first := <-orders
	if first.Start == nil {
		return answer{Error: "the trial did not start"}
	}
	open, stop := context.WithCancelCause(ctx)
	defer stop(errEnded)
	listening, done := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { // stop at the next order, which is Stop, or if the parent has ended
		defer close(ended)
		select {
		case <-orders:
			stop(errEnded)
		case <-listening.Done():
		}
	}()
	_ = sleep(ctx, time.Until(*first.Start))
	err := t.writeTimed(ctx, open, stop, t.writeAll)
	done()
	<-ended
	p := &part{Writers: map[int]*writerLog{}, Client: t.result.Client, Left: t.log.left}
	if t.log.arrivals != nil {
		p.Arrivals = t.log.arrivals.times
	}
	for i, w := range t.log.writers {
		if t.mine(i) {
			p.Writers[i] = w
		}
	}
	a := answer{Part: p}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}
