// Package scale measures a manager in a steady state: many Deployments, four field managers on each, all of them as
// wanted, and somebody else who goes on writing. It is measured once more with nobody writing.
//
// The manager is a process of its own, so that processor time and memory are its alone: the program starts itself, and
// TestMain asks IsProcess first.
//
// It has a cache of the Deployments, set up as cmd/manager has it, and four reconcilers of coapply.For, which build
// their intents for the Deployment anew and apply them, when it changes in a way that concerns them, and at the resync of
// the cache.
// Deployments rather than ConfigMaps, because they have what makes the check dear: some twenty fields of ours,
// quantities, lists whose items have keys and defaults, and a status that others write.
//
// Beside it stand reconcilers written by hand, with an applier each, that reconcile a Deployment whenever anything of it
// changes, and at the resync as well.
package scale

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// OthersPerSecond is how many statuses are written meanwhile, each of them to another object. All four managers see
	// what was written; those written by hand reconcile it: 80 a second more.
	OthersPerSecond = 20
	// Window is how long processor time is measured. Each manager reconciles each object once in it, at a resync.
	Window = 10 * time.Minute
	// Resync is cache.Options.SyncPeriod. The cache makes it up to a tenth longer or shorter, and the first resync that
	// reaches the reconcilers is the second one, as their handlers are added after the first period has begun.
	Resync = Window * 9 / 20
)

// Result is what one measurement found. Memory is in bytes, and CPU in shares of one core.
type Result struct {
	Objects int
	// CPUShare is of the window, others' writes and the reconciles that follow from them included.
	CPUShare float64
	// CacheCPUShare is the same of a process that only has the cache of the same objects, with others writing as much.
	CacheCPUShare float64
	// ByHandCPUShare is the same of a process with reconcilers written by hand, in so many reconciles.
	ByHandCPUShare   float64
	ByHandReconciles int
	// QuietCPUShare is the same as CPUShare, measured after it while nobody else writes, with so many reconciles.
	QuietCPUShare   float64
	QuietReconciles int
	// MemoryOverCache is how much more of the heap is in use, after a collection, than in a process that only has the
	// cache: the checks' memory, the server's schemas, and the reconcilers' queues.
	MemoryOverCache int64
	// ByHandOverCache is the same of a process with reconcilers written by hand.
	ByHandOverCache int64
	// RSSOverCache is the same as MemoryOverCache of resident memory, with free pages given back.
	RSSOverCache int64
	// CacheHeap is the heap in use with the cache alone.
	CacheHeap int64
	// RestartWrites is how many requests that are no reads a new process sent until each of its managers had
	// reconciled each object, all of which were as wanted.
	RestartWrites int
	RestartTook   time.Duration
	// Reconciles and OthersWrites are counted in the window of CPUShare, which took so long; WindowWrites, which are
	// ours, also in that of QuietCPUShare.
	Took         time.Duration
	Reconciles   int
	WindowWrites int
	OthersWrites int
	// SeedTook is how long it took to create the objects, one apply a manager and object.
	SeedTook time.Duration
}

// run measures so many objects, in a namespace of its own that it removes again. It takes some minutes for 10,000 of
// them: they are made by what is measured elsewhere, one honest apply for each of the four managers.
func run(ctx context.Context, config *rest.Config, objects int, window time.Duration, progress io.Writer) (result Result, err error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.New(config, client.Options{})
	if err != nil {
		return Result{}, err
	}
	s := seed{client: c, objects: objects, progress: progress}
	result.Objects = objects
	defer func() { err = s.remove(ctx, err) }()
	if result.SeedTook, err = s.create(ctx); err != nil {
		return result, fmt.Errorf("scale: creating what is to be reconciled: %w", err)
	}
	measured := map[load]report{}
	for _, l := range []load{{cacheAlone, others}, {byHand, others}, {applying, others}, {applying, nobody}} {
		window := window
		if l.mode == cacheAlone {
			window /= 10 // it reconciles nothing
		}
		fmt.Fprintf(progress, "scale: a process with %s, for %v\n", l, window)
		if measured[l], err = s.observe(ctx, config, l, window); err != nil {
			return result, fmt.Errorf("scale: a process with %s: %w", l, err)
		}
		fmt.Fprintf(progress, "scale: %.2f %% of a core, heap %d KiB, resident %d KiB, %d writes at the start\n",
			100*measured[l].share(), measured[l].Heap>>10, measured[l].RSS>>10, measured[l].StartWrites)
	}
	return result.of(measured), nil
}

// load is what a process is measured under.
type load struct {
	mode

	writes writing // what is written meanwhile
}

func (l load) String() string { return string(l.mode) + ", " + string(l.writes) }

type writing string

const (
	others writing = "others writing"
	nobody writing = "nobody else writing"
)

func (r Result) of(measured map[load]report) Result {
	cache, hand, all := measured[load{cacheAlone, others}], measured[load{byHand, others}], measured[load{applying, others}]
	quiet := measured[load{applying, nobody}]
	r.QuietCPUShare, r.QuietReconciles = quiet.share(), quiet.Reconciles
	r.CPUShare, r.CacheCPUShare = all.share(), cache.share()
	r.ByHandCPUShare, r.ByHandReconciles = hand.share(), hand.Reconciles
	r.MemoryOverCache, r.RSSOverCache = all.Heap-cache.Heap, all.RSS-cache.RSS
	r.ByHandOverCache, r.CacheHeap = hand.Heap-cache.Heap, cache.Heap
	r.RestartWrites, r.RestartTook = all.StartWrites, all.StartTook
	r.Took = all.Took.Round(time.Second)
	r.Reconciles, r.WindowWrites, r.OthersWrites = all.Reconciles, all.Writes+quiet.Writes, all.others
	return r
}
