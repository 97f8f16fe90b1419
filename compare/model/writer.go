package model

// writer writes one intent after the other. Each method is one step, and says which comes next.
type writer struct {
	*simulation

	began  float64 // the intent
	failed int     // attempts of it
	seen   int     // version
	seenAt float64
	slow   float64 // this request, against others
}

func (w *writer) begin() {
	if w.now >= w.warmup+w.duration {
		return
	}
	w.began, w.failed = w.now, 0
	w.attempt()
}

// attempt waits for the lane, in order.
func (w *writer) attempt() {
	if w.policy.lanes && w.taken {
		w.queue = append(w.queue, w)
		return
	}
	w.taken = true
	w.send()
}

func (w *writer) leaveLane() {
	w.taken = false
	if len(w.queue) > 0 {
		next := w.queue[0]
		w.queue = w.queue[1:]
		w.taken = true
		next.send()
	}
}

// send is the request that reads: a GET, or Server-Side Apply.
func (w *writer) send() { w.wait(w.rtt/2, w, (*writer).request) }

func (w *writer) request() {
	if w.policy.applies {
		w.slow = w.writes(w.random)
		w.work(w.arrive*w.slow, w, func(w *writer) { w.mergeWith(w.cached) })
		return
	}
	w.slow = w.reads(w.random)
	w.work(w.arrive*w.slow, w, func(w *writer) {
		w.look(w.version)
		w.work(w.deliver*w.slow, w, func(w *writer) { w.wait(w.rtt, w, (*writer).put) })
	})
}

func (w *writer) look(version int) { w.seen, w.seenAt = version, w.now }

func (w *writer) mergeWith(version int) {
	w.look(version)
	w.work(w.merge*w.slow, w, (*writer).store)
}

// put is get-modify-update's write. The server refuses what is stale before it tries to store it.
func (w *writer) put() {
	w.slow = w.writes(w.random)
	w.work(w.merge*w.slow, w, func(w *writer) {
		if w.seen != w.version {
			w.lost(w.commit + w.answer)
			return
		}
		w.store()
	})
}

// store tries to commit.
func (w *writer) store() {
	w.work(w.commit*w.slow, w, func(w *writer) {
		if w.seen != w.version {
			w.lost(w.answer)
			return
		}
		w.attempted()
		w.version++
		w.work(w.behind, w, func(w *writer) { w.cached++ })
		w.work(w.answer*w.slow, w, func(w *writer) { w.wait(w.rtt/2, w, (*writer).land) })
	})
}

func (w *writer) attempted() {
	w.outcome.attempts++
	w.outcome.window += w.now - w.seenAt
}

// lost is an attempt after another one landed. The server refuses it when it has done its part of the rest, or merges
// again with what the store told it.
func (w *writer) lost(rest float64) {
	w.attempted()
	w.outcome.stale++
	switch {
	case !w.policy.applies:
		w.work((rest*w.costs.refused+w.again)*w.slow, w, func(w *writer) { w.wait(w.rtt/2, w, (*writer).refused) })
	case w.now-w.began < timeout:
		w.slow = w.writes(w.random)
		w.mergeWith(w.version)
	default:
		w.wait(w.rtt/2, w, (*writer).timedOut)
	}
}

func (w *writer) timedOut() {
	w.leaveLane()
	w.giveUp()
}

func (w *writer) land() {
	w.leaveLane()
	if w.timed() {
		w.outcome.landed++
	}
	w.end()
}

func (w *writer) refused() {
	w.leaveLane()
	w.failed++
	if w.failed == w.policy.attempts {
		w.giveUp()
		return
	}
	w.wait(w.policy.backoff(w.failed, w.random), w, (*writer).attempt)
}

func (w *writer) giveUp() {
	w.outcome.gaveUp++
	w.end()
}

// end of an intent; the next begins at once.
func (w *writer) end() {
	w.outcome.ended++
	if w.timed() {
		w.outcome.spent += w.now - w.began
	}
	w.begin()
}
