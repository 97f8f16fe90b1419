package lanes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// crowd describes the writers of one object in all processes. Set.mu guards all fields.
//
// Processes cannot share a lane. Consider 16 processes that all write one object again as soon as the API server has
// responded. The API server then has 16 applies of the object in progress. Only one of them can succeed, and the API
// server repeats the other 15. Two writes in progress are enough to keep the API server busy, so 14 processes should
// pause.
//
// A process does not know which others pause, but it knows two things. The managed fields in the response to an apply
// show which field managers have changed fields lately, if they still own some. And the API server takes longer for an
// apply while it has more applies of the object in progress. So each of k processes pauses for (k-2) * (t - 2f), where
// t is the time of its last apply, and f the time of its fastest recent apply, or for a random time up to twice as long.
// If few writes are in progress, applies are fast, and nobody pauses. If many are in progress, applies are slow, and all
// processes pause until few are in progress. The pauses depend only on the last apply, and do not add up, so they end
// when the other writers stop, or when the API server becomes faster.
type crowd struct {
	processes float64       // the estimated number of processes that write to the object
	fastest   time.Duration // the shortest time of a recent apply
	pause     time.Duration // the shortest pause between two writes of this process
	next      time.Time     // when the next write of this process may begin
}

const (
	// aging makes fastest follow an API server that has become slower: each apply moves fastest by 1/aging of the
	// difference to the time of this apply.
	aging = 200
	// ordinary is the first value of crowd.fastest: without it, the first apply, even if slow, would count as fast, and no
	// process would pause.
	ordinary = 250 * time.Millisecond
	// longest is the maximum of crowd.pause.
	longest = 2 * time.Second
)

// Pace must be called inside a lane before an apply that the API server retries internally if another write was stored
// first. Pace waits if two or more other processes change the object too, and if the last apply took more than twice as
// long as a fast one. Otherwise it returns at once. An error wraps the error of the context.
func Pace(inside context.Context) error {
	v := visitOf(inside)
	if v == nil {
		return nil
	}
	wait := v.lane.set.reserve(v.lane.object, time.Now())
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-inside.Done():
		return fmt.Errorf("waiting to write %v, because other processes are writing to the object: %w", v.lane.object, inside.Err())
	}
}

// Landed must be called inside a lane after an apply that changed the object. The argument manager is the field manager
// of the apply, took is the time from the request to the response, and managed contains the managed fields in the
// response.
func Landed(inside context.Context, manager string, took time.Duration, managed []metav1.ManagedFieldsEntry) {
	v := visitOf(inside)
	if v == nil {
		return
	}
	s, object := v.lane.set, v.lane.object
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses(manager)
	c := s.crowds[object]
	c.processes = processes(managed, s.managers)
	if c.processes <= 1 {
		delete(s.crowds, object)
		return
	}
	if c.fastest == 0 {
		c.fastest = ordinary
	}
	c.fastest = min(c.fastest, took)
	c.fastest += (took - c.fastest) / aging
	c.pause = pause(c.processes, took, c.fastest)
	c.next = time.Now().Add(c.jittered())
	if s.crowds == nil || len(s.crowds) >= maxPaces {
		s.crowds = map[Key]crowd{}
	}
	s.crowds[object] = c
}

// reserve returns how long the next write of this process to the object must wait. If this process reserves several
// writes before one of them ends, each of them gets a later time than the one before.
func (s *Set) reserve(object Key, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, crowded := s.crowds[object]
	if !crowded {
		return 0
	}
	begin := c.next
	if now.Sub(begin) > lingers { // the last apply says nothing about the present
		c.pause = 0
	}
	if begin.Before(now) {
		begin = now
	}
	c.next = begin.Add(c.jittered())
	s.crowds[object] = c
	return begin.Sub(now)
}

// pause returns the shortest pause after an apply that took the given time. See crowd.
func pause(processes float64, took, fastest time.Duration) time.Duration {
	if processes <= 2 || took <= 2*fastest {
		return 0
	}
	return min(time.Duration((processes-2)*float64(took-2*fastest)), longest)
}

// jittered returns a random duration from c.pause to 2*c.pause, so that processes do not write at the same time.
func (c crowd) jittered() time.Duration {
	return time.Duration((1 + rand.Float64()) * float64(c.pause))
}

// processes estimates how many processes write to an object. Each other process is assumed to write with as many field
// managers as this process. A field manager counts if the time of its entry, which has no fractions of a second, is at
// most one second before the newest time.
func processes(managed []metav1.ManagedFieldsEntry, ours map[string]bool) float64 {
	var newest time.Time
	for i := range managed {
		if at := managed[i].Time; at != nil && at.After(newest) {
			newest = at.Time
		}
	}
	seen, own := map[string]bool{}, 0
	for i := range managed {
		entry := &managed[i]
		if entry.Time == nil || newest.Sub(entry.Time.Time) > time.Second || seen[entry.Manager] {
			continue
		}
		seen[entry.Manager] = true
		if ours[entry.Manager] {
			own++
		}
	}
	return 1 + float64(len(seen)-own)/float64(max(own, 1))
}

// uses records a field manager of this process.
func (s *Set) uses(manager string) {
	if s.managers == nil {
		s.managers = map[string]bool{}
	}
	s.managers[manager] = true
}
