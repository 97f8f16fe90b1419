package applytest

import (
	"context"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Faulty is a client whose calls get injected answers, and the wrapped client's
// where none is due. It is a client.Client, so it serves as LiveReader too, and is
// safe for concurrent use.
type Faulty struct {
	client.Client

	mu     sync.Mutex
	faults []*counted
}

// Inject puts faults into a client, such as controller-runtime's fake one. Each
// call gets the answer of the first fault in the list that is due, so that faults
// for the same call happen one after the other. A fault that is given wrongly
// fails the test at once, and one that did not happen fails it at its end: a test
// that passes as its fault is not met proves nothing.
func Inject(t testing.TB, c client.Client, faults ...Fault) *Faulty {
	t.Helper()
	f := &Faulty{Client: c}
	if c == nil {
		t.Fatal("applytest: Inject needs a client to put faults into")
	}
	for i, fault := range faults {
		if err := fault.validate(); err != nil {
			t.Fatalf("applytest: fault %d of %d: %v", i+1, len(faults), err)
		}
		f.faults = append(f.faults, &counted{Fault: fault})
	}
	t.Cleanup(func() {
		t.Helper()
		for _, unused := range f.Unused() {
			t.Errorf("applytest: a fault did not happen: %s", unused)
		}
	})
	return f
}

// Given counts the calls that got the answer of a fault.
func (f *Faulty) Given() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	given := 0
	for _, fault := range f.faults {
		given += fault.given
	}
	return given
}

// Unused says, for each fault that happened less often than it should, how often
// it did.
func (f *Faulty) Unused() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, fault := range f.faults {
		if unused := fault.unused(); unused != "" {
			all = append(all, unused)
		}
	}
	return all
}

// due counts the call with every fault and gives the answer of the first that is
// due.
func (f *Faulty) due(made call) (Answer, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var first *counted
	for _, fault := range f.faults {
		if fault.sees(made.Call) && first == nil {
			first = fault
		}
	}
	if first == nil {
		return Answer{}, false
	}
	first.given++
	return first.Answer, true
}

// do makes a call or gives it what is due. Where a write lands and its answer is
// lost, lost makes it. A call whose context has ended is not sent, so it is not met
// by a fault.
func (f *Faulty) do(ctx context.Context, made call, send, lost func() error) error {
	if ctx.Err() != nil {
		return send()
	}
	answer, due := f.due(made)
	if !due {
		return send()
	}
	if answer.lands {
		_ = lost() // nobody learns what it was: that is the fault
	}
	return answer.give(ctx, made)
}

// Get is client.Reader's.
func (f *Faulty) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	made := f.callTo(VerbGet, into, key)
	return f.do(ctx, made, func() error { return f.Client.Get(ctx, key, into, opts...) }, nil)
}

// List is client.Reader's.
func (f *Faulty) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	made := f.callTo(VerbList, into, types.NamespacedName{Namespace: options.Namespace})
	return f.do(ctx, made, func() error { return f.Client.List(ctx, into, opts...) }, nil)
}
