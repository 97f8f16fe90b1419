// Package advise gives advice on writing to Kubernetes objects. It shows which protections a write needs, and which
// arm (way to write) was the best in a benchmark run. A run measures arms in cells. A cell is a workload with
// parameters, such as 16 writers. For details, see docs/benchmarking.md.
package advise

// Write describes a piece of code that writes to Kubernetes objects, by the answers to four questions.
type Write struct {
	// Cached: does the code modify an object that came from a cache?
	Cached bool
	// Updates: does the code update or patch an existing object? Otherwise it creates or deletes objects.
	Updates bool
	// Repeatable: may the write be retried? A retry requires an idempotent modify function without side effects.
	Repeatable bool
	// Counts: does the code write to several objects, or make a decision that depends on a number of objects?
	Counts bool
}

// Layer is one of four protections against lost updates and races. Why contains the reason for the value of Needed.
type Layer struct {
	Name   string
	Needed bool
	Why    string
}

// Layers returns the four protections, each marked as needed or not needed:
//   - a deep copy, for two goroutines that share a cached object;
//   - the resourceVersion, for two clients that write to one API object;
//   - a retry, for a write that fails because it is based on an outdated read;
//   - expectations, for two decisions that are based on the same outdated data.
func Layers(w Write) []Layer {
	layer := func(name string, needed bool, why, otherwise string) Layer {
		if !needed {
			why = otherwise
		}
		return Layer{name, needed, why}
	}
	noRetry := "a create, a delete or a read never fails as a stale write"
	if w.Updates {
		noRetry = "do not repeat this write: return the error, so that the queue calls the reconciler again"
	}
	return []Layer{
		layer("deep copy", w.Cached, "other code shares the cached object: modify a copy (controller-runtime's Get and List return copies)",
			"the code modifies no object that other code shares"),
		layer("resourceVersion", w.Updates,
			"without it, an update or patch overwrites what other clients wrote since the read; an apply of own fields needs none",
			"a create needs no resourceVersion, and a delete needs the uid instead"),
		layer("retry", w.Updates && w.Repeatable,
			"a stale write succeeds after a new read: retry writes of status, finalizers, labels and annotations", noRetry),
		layer("expectations", w.Counts,
			"a count from a cache may be outdated: use expectations, or names derived from the parent, which need no expectations",
			"the decision depends on only one object"),
	}
}
