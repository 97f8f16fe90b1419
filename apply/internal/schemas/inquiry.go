package schemas

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// inquiry asks the API server for something in the background, one request at a time. After a
// failure the next request waits for a back-off, which begins when the failed one ended.
// Callers wait for the answer briefly, and only if the last request did not fail, so an answer
// that does not come holds up callers once.
//
// A request runs in a goroutine, which ends with it: after inquiryTimeout at the latest.
type inquiry struct {
	mu *sync.Mutex // guards the fields below, and what keep writes to

	ended    chan struct{} // closed when the request under way has ended; nil if there is none
	patience time.Time     // until when callers wait for it
	failures int           // in a row
	next     time.Time     // no request before
	err      error         // of the last request
}

const (
	inquiryTimeout  = 10 * time.Second
	inquiryPatience = time.Second
)

// afterFailures returns the wait after this many failures in a row: from a second to some two
// minutes.
func afterFailures(n int) time.Duration {
	return wait.Jitter(time.Second<<min(n-1, 7), 0.5)
}

// ask starts a request, unless one is under way or it is too early for another. keep is called
// with mu held. onFailure is called with the first error in a row.
func (q *inquiry) ask(request func(context.Context) (keep func(), err error), onFailure func(error)) {
	now := time.Now()
	if q.ended != nil || now.Before(q.next) {
		return
	}
	ended := make(chan struct{})
	q.ended, q.patience = ended, now.Add(inquiryPatience)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), inquiryTimeout)
		defer cancel()
		keep, err := withoutPanic(ctx, request)
		q.mu.Lock()
		defer q.mu.Unlock()
		q.ended, q.err = nil, err
		defer close(ended)
		if err == nil {
			q.failures = 0
			keep()
			return
		}
		q.failures++
		q.next = time.Now().Add(afterFailures(q.failures))
		if q.failures == 1 {
			onFailure(err)
		}
	}()
}

// wait unlocks mu until the request under way has ended, patience is over, or the context has
// ended.
func (q *inquiry) wait(ctx context.Context) {
	if q.failures > 0 {
		return
	}
	ended, patience := q.ended, time.Until(q.patience)
	q.mu.Unlock()
	defer q.mu.Lock()
	select {
	case <-ended:
	case <-time.After(patience):
	case <-ctx.Done():
	}
}

// withoutPanic returns a panic of request as an error: somebody else wrote the schema of a
// CustomResourceDefinition, and a panic in a goroutine would end the process.
func withoutPanic(ctx context.Context, request func(context.Context) (func(), error)) (keep func(), err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it cannot be read: %v", r)
		}
	}()
	return request(ctx)
}
