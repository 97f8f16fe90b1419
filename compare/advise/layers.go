// Package advise says which protections a write needs, and which way of writing was best where it was measured.
package advise

// Write is what a piece of code does, as the answers to four questions.
type Write struct {
	// Cached: does it modify an object that came from a cache?
	Cached bool
	// Updates: does it update or patch an object that exists? Otherwise it creates or deletes.
	Updates bool
	// Repeatable: may it be tried again, because the closure is idempotent and its side effects stand outside?
	Repeatable bool
	// Counts: does it act on several objects, or decide on a count of them?
	Counts bool
}

// Layer is one of the four protections, with why it is needed or not.
type Layer struct {
	Name   string
	Needed bool
	Why    string
}

// Layers returns the four protections, each against a race of its own: two goroutines on one cached object, two clients on
// one object of the API, a lost race that can be run again, two decisions on old data. The fewest that suffice are
// needed.
func Layers(w Write) []Layer {
	layer := func(name string, needed bool, why, otherwise string) Layer {
		if !needed {
			why = otherwise
		}
		return Layer{name, needed, why}
	}
	noRetry := "no stale write comes of a create, a delete or a read"
	if w.Updates {
		noRetry = "what cannot be repeated goes back to the queue: return the error"
	}
	return []Layer{
		layer("deep copy", w.Cached, "the cached object is everyone's: modify a copy (controller-runtime's Get and List give one)",
			"nothing that others hold is modified"),
		layer("resourceVersion", w.Updates,
			"without it an update or patch overwrites what others wrote since the read; an apply of own fields needs none",
			"a create needs none, a delete needs the uid instead"),
		layer("retry", w.Updates && w.Repeatable,
			"a stale write heals by reading again: right for status, finalizers, labels, annotations", noRetry),
		layer("expectations", w.Counts,
			"a count from a cache may be old: expectations, or names that follow from the parent, which need none",
			"the decision rests on one object"),
	}
}
