package model

import (
	"container/heap"
	"math"
)

// engine is simulated time, in milliseconds, with processors that all work shares in equal parts.
type engine struct {
	// cores is how much work is done by time when there is much of it. One piece of work alone is done at speed 1, and
	// each further one slows all of them down by the same: a request alone already has company, such as the client, the
	// store and whoever watches.
	cores float64
	now   float64
	// done is how much every piece of work has got that has been there from the start.
	done             float64
	waiting, working tasks // by now, and by done
	count            int
}

// step is what a writer does next. It is no closure: a simulation makes millions of them.
type step func(*writer)

// wait is until a while later.
func (e *engine) wait(ms float64, w *writer, then step) { e.add(&e.waiting, e.now, ms, w, then) }

// work is until the processors have done so many milliseconds of work for it.
func (e *engine) work(ms float64, w *writer, then step) { e.add(&e.working, e.done, ms, w, then) }

func (e *engine) add(to *tasks, from, ms float64, w *writer, then step) {
	if ms <= 0 {
		then(w)
		return
	}
	e.count++
	*to = append(*to, task{from + ms, e.count, w, then})
	heap.Fix(to, len(*to)-1) // as heap.Push, which would put each task on Go's heap
}

// next runs the next task unless it comes after the end; it is false then, and without any.
func (e *engine) next(end float64) bool {
	timer, ready, speed := math.Inf(1), math.Inf(1), e.speed()
	if len(e.waiting) > 0 {
		timer = e.waiting[0].at
	}
	if len(e.working) > 0 {
		ready = e.now + (e.working[0].at-e.done)/speed
	}
	switch {
	case min(timer, ready) > end || math.IsInf(min(timer, ready), 1):
		return false
	case ready <= timer:
		t := e.working.take()
		e.now, e.done = ready, t.at
		t.then(t.writer)
	default:
		t := e.waiting.take()
		e.now, e.done = timer, e.done+(timer-e.now)*speed
		t.then(t.writer)
	}
	return true
}

func (e *engine) speed() float64 { return 1 / (1 + float64(max(0, len(e.working)-1))/e.cores) }

// tasks is a heap. Of two at one time the older comes first, so that the same simulation is the same every time.
type tasks []task

type task struct {
	at     float64
	count  int
	writer *writer
	then   step
}

func (t tasks) Len() int { return len(t) }

func (t tasks) Less(i, j int) bool {
	return t[i].at < t[j].at || (t[i].at == t[j].at && t[i].count < t[j].count)
}

func (t tasks) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push is for heap.Interface; add does its work.
func (t *tasks) Push(any) {}

// Pop is for heap.Interface; take does its work.
func (t *tasks) Pop() any { return nil }

func (t *tasks) take() task {
	first, last := (*t)[0], len(*t)-1
	(*t)[0], (*t)[last] = (*t)[last], task{}
	*t = (*t)[:last]
	if last > 0 {
		heap.Fix(t, 0)
	}
	return first
}
