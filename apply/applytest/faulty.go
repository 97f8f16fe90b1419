package applytest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Faulty is a client whose calls get injected answers, and the wrapped client's answers if no
// fault is due. It can also serve as LiveReader, and is safe for concurrent use.
type Faulty struct {
	client.Client

	t      testing.TB
	mu     sync.Mutex
	faults []*counted
	calls  madeCalls
	over   bool // the test has ended and must not be failed any more
}

// misgiven is the error of a fault that was due and does not fit the call.
type misgiven string

func (m misgiven) Error() string { return string(m) }

// Inject puts faults into a client, such as controller-runtime's fake client. Each call gets
// the answer of the first fault in the list that is due, so faults for the same call happen one
// after the other.
//
// A fault that can never happen fails the test in Inject. A fault that is due for a call which
// no server answers like this fails the call and the test. A fault that did not happen fails
// the test at its end, with a list of the calls that were made or of the earlier faults that
// answered them: the test would prove nothing.
func Inject(t testing.TB, c client.Client, faults ...Fault) *Faulty {
	t.Helper()
	f := &Faulty{Client: c, t: t}
	if c == nil {
		t.Fatal("applytest: Inject needs a client to put faults into")
	}
	for i, fault := range faults {
		if err := fault.validate(); err != nil {
			t.Fatalf("applytest: fault %d of %d: %v", i+1, len(faults), err)
		}
		f.faults = append(f.faults, &counted{Fault: fault, number: i + 1, taken: map[int]int{}})
	}
	t.Cleanup(func() {
		t.Helper()
		f.mu.Lock()
		f.over = true
		f.mu.Unlock()
		for _, unused := range f.Unused() {
			t.Errorf("applytest: a fault did not happen: %s", unused)
		}
	})
	return f
}

// Given returns how many calls got the answer of a fault.
func (f *Faulty) Given() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	given := 0
	for _, fault := range f.faults {
		given += fault.given
	}
	return given
}

// Unused returns a text for each fault that happened less often than it should: how often it
// did and why.
func (f *Faulty) Unused() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, fault := range f.faults {
		if unused := fault.unused(&f.calls); unused != "" {
			all = append(all, unused)
		}
	}
	return all
}

// due counts the call with every fault and returns the first that is due.
func (f *Faulty) due(made call) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls.add(made)
	var first *counted
	for _, fault := range f.faults {
		switch due := fault.sees(made); {
		case due && first == nil:
			first = fault
		case due:
			fault.taken[first.number]++
		}
	}
	if first == nil {
		return Fault{}, false
	}
	first.given++
	return first.Fault, true
}

// refuse fails the test, unless that is over, because a fault was due for a call that it does
// not fit.
func (f *Faulty) refuse(fault Fault, made call, why error) error {
	err := fmt.Errorf("applytest: %v is due to %v, which cannot get it: %w", fault, made.Call, why)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.over {
		f.t.Error(err)
	}
	return err
}

// do makes a call, or answers it with the fault that is due. If the fault is a lost answer,
// lost makes the call. A call whose context has ended is not sent, so it does not meet a fault.
func (f *Faulty) do(ctx context.Context, made call, send func() error, lost func()) error {
	if ctx.Err() != nil {
		return send()
	}
	fault, due := f.due(made)
	if !due {
		return send()
	}
	answer := fault.Answer
	if answer.unfit != nil {
		if err := answer.unfit(made); err != nil {
			return f.refuse(fault, made, err)
		}
	}
	if answer.lands {
		lost()
	}
	err := answer.give(ctx, made)
	if why, wrong := err.(misgiven); wrong { //nolint:errorlint // what Fails wraps is the caller's
		return f.refuse(fault, made, why)
	}
	return err
}

// Get implements client.Reader.
func (f *Faulty) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	made := f.callTo(VerbGet, into, key)
	return f.do(ctx, made, func() error { return f.Client.Get(ctx, key, into, opts...) }, nil)
}

// List implements client.Reader.
func (f *Faulty) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	made := f.callTo(VerbList, into, types.NamespacedName{Namespace: options.Namespace})
	return f.do(ctx, made, func() error { return f.Client.List(ctx, into, opts...) }, nil)
}
