package schemas

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// inquiry is a question that is put to the API server in the background, one request
// at a time. After a failure the next request waits for a back-off, which begins when
// the failed one ended. Whoever needs the answer waits for it briefly, and only if the
// last request did not fail: an answer that does not come holds up its callers once.
//
// A request runs in a goroutine, which ends with it: after inquiryTimeout at the latest.
type inquiry struct {
	mu *sync.Mutex // guards what follows, and what answers are kept in

	ended    chan struct{} // closed when the request under way has ended; nil: there is none
	patience time.Time     // until when callers wait for it
	failures int           // in a row
	next     time.Time     // no request before
	err      error         // of the last request
}

const (
	inquiryTimeout  = 10 * time.Second
	inquiryPatience = time.Second
)

// afterFailures is how long to leave the server alone after so many failures in a row:
// from a second to some two minutes.
func afterFailures(n int) time.Duration {
	return wait.Jitter(time.Second<<min(n-1, 7), 0.5)
}

// ask starts a request, unless one is under way or it is too early for another.
// What keeps the answer runs with mu held. onFailure is told the first error in a row.
func (q *inquiry) ask(request func(context.Context) (keep func(), err error), onFailure func(error)) {
	now := time.Now()
	if q.ended != nil || now.Before(q.next) {
		return
	}
	ended := make(chan struct{})
	q.ended = ended
	if q.failures == 0 {
		q.patience = now.Add(inquiryPatience)
	}
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

// wait lets go of mu until the request under way has ended, as far as patience and the
// context allow.
func (q *inquiry) wait(ctx context.Context) error {
	ended, patience := q.ended, time.Until(q.patience)
	if ended == nil || patience <= 0 || q.failures > 0 {
		return ctx.Err()
	}
	q.mu.Unlock()
	defer q.mu.Lock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// withoutPanic: the schema of a CustomResourceDefinition is somebody else's, and nobody
// above a goroutine recovers.
func withoutPanic(ctx context.Context, request func(context.Context) (func(), error)) (keep func(), err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it cannot be read: %v", r)
		}
	}()
	return request(ctx)
}
