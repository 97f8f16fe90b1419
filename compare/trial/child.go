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

// Command is the hidden subcommand that runs Serve.
const Command = "writers"

// Serve is a process of writers: it makes its part of one trial after the other until its orders end.
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
		if o.Trial == nil { // a stop that came when the trial had ended
			continue
		}
		t, err := attach(ctx, catalogue, *o.Trial)
		if err != nil {
			err = answers.Encode(answer{Error: err.Error()})
		} else {
			err = errors.Join(answers.Encode(answer{}), answers.Encode(t.serve(ctx, orders)))
		}
		if err != nil {
			return fmt.Errorf("answering: %w", err)
		}
	}
	if err := <-failed; !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading orders: %w", err)
	}
	return nil
}

// attach joins a trial that the parent has prepared. Discovery is the user's own here, and is not counted either.
func attach(ctx context.Context, catalogue compare.Catalogue, a assignment) (*trial, error) {
	arm, knownArm := catalogue.Arm(a.Arm)
	workload, knownWorkload := catalogue.Workload(a.Cell.Workload)
	if !knownArm || !knownWorkload || workload.Attach == nil {
		return nil, fmt.Errorf("a process of writers does not know how %s writes %s", a.Arm, a.Cell.Workload)
	}
	user := &rest.Config{Host: a.Host, BearerToken: a.Token, TLSClientConfig: a.TLS, QPS: -1}
	t := newTrial(place{admin: user, user: user, namespace: a.Namespace}, Spec{Cell: a.Cell, Arm: arm, Workload: workload, Seed: a.Seed})
	t.process = a.Process
	t.log.began = t.log.began.Add(a.Began.Sub(t.log.began)) // it keeps the monotonic clock of this process
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

// serve waits for the start, and writes.
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
	go func() { // the next order is Stop, or there is none because the parent has ended
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
