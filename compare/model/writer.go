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

func (w *writer) attempt() {
	w.enter(func() { w.wait(w.rtt/2, w.request) })
}

// request is the one that reads: a GET, or Server-Side Apply.
func (w *writer) request() {
	if w.policy.applies {
		w.slow = w.writes(w.random)
		w.work(w.arrive*w.slow, func() {
			w.look(w.cached)
			w.work(w.merge*w.slow, w.store)
		})
		return
	}
	w.slow = w.reads(w.random)
	w.work(w.arrive*w.slow, func() {
		w.look(w.version)
		w.work(w.deliver*w.slow, func() { w.wait(w.rtt, w.put) })
	})
}

func (w *writer) look(version int) { w.seen, w.seenAt = version, w.now }

// put is get-modify-update's write. The server refuses what is stale before it tries to store it.
func (w *writer) put() {
	w.slow = w.writes(w.random)
	w.work(w.merge*w.slow, func() {
		if w.seen != w.version {
			w.lost(w.commit + w.answer)
			return
		}
		w.store()
	})
}

// store tries to commit.
func (w *writer) store() {
	w.work(w.commit*w.slow, func() {
		if w.seen != w.version {
			w.lost(w.answer)
			return
		}
		w.attempted()
		w.version++
		version := w.version
		w.work(w.behind, func() { w.cached = max(w.cached, version) })
		w.work(w.answer*w.slow, func() { w.wait(w.rtt/2, w.land) })
	})
}

func (w *writer) attempted() {
	w.outcome.attempts++
	w.outcome.window += w.now - w.seenAt
}

// lost is an attempt after another one landed. The server answers when it has done the rest, or repeats with what the
// store told it.
func (w *writer) lost(rest float64) {
	w.attempted()
	w.outcome.stale++
	switch {
	case !w.policy.applies:
		w.work((rest+w.again)*w.slow, func() { w.wait(w.rtt/2, w.refused) })
	case w.now-w.began < timeout:
		w.look(w.version)
		w.slow = w.writes(w.random)
		w.work(w.merge*w.slow, w.store)
	default:
		w.wait(w.rtt/2, w.giveUp)
	}
}

func (w *writer) land() {
	w.leave()
	if w.timed() {
		w.outcome.landed++
	}
	w.end()
}

func (w *writer) refused() {
	w.leave()
	w.failed++
	if w.failed == w.policy.attempts {
		w.giveUp()
		return
	}
	w.wait(w.policy.backoff(w.failed, w.random), w.attempt)
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
