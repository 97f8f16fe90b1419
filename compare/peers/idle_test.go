package peers

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"coapply.dev/compare/target"
)

const (
	// window is how long the manager process is measured. Each reconciler gets each object once in this time, by the resync
	// of the cache.
	window = 10 * time.Minute
	// resync is the SyncPeriod of the cache. The cache makes a period up to 10 % longer or shorter. The reconcilers see
	// the second resync first, because the first period begins before their handlers are added.
	resync = window * 9 / 20
	// settle is the time between the start of the reconcilers and the window.
	settle = 5 * time.Second
)

// mode is what runs in the manager process.
type mode string

const (
	cacheAlone mode = "cache"
	byHand     mode = "by-hand" // reconcilers that read, emit and apply when anything in their object changes
	applying   mode = "coapply" // reconcilers of coapply.For
)

// report is what the manager process reports at the end of the window.
type report struct {
	StartWrites int           // the number of write requests before the window
	Writes      int           // the number of write requests in the window
	Reconciles  int           // in the window
	CPU, Took   time.Duration // the CPU time and the time of the window
	Heap        int64         // in bytes, after a garbage collection

	others int // the number of writes by others in the window
}

// loads are the modes that are measured. In the last one, nobody else writes.
var loads = []struct {
	name string
	mode
	others bool
}{{"cache", cacheAlone, true}, {"by-hand", byHand, true}, {"coapply", applying, true}, {"coapply-quiet", applying, false}}

// BenchmarkIdle measures a manager process in a steady state: 10,000 Deployments (100 with -short) that are as wanted, with
// four field managers each. Meanwhile, another client writes 20 statuses per second. Deployments make the no-op check
// expensive: the managers own about 30 fields, among them quantities and lists with keys and default values. The
// benchmark ignores -benchtime, and -count should be 1.
//
// The manager is a process of its own, so that its CPU time and its memory are known. Subtract the heap of the part "cache"
// from the heap of the other parts to get the memory beyond the informer cache.
func BenchmarkIdle(b *testing.B) {
	objects, window := 10_000, window
	if testing.Short() {
		objects, window = 100, 2*time.Second
	}
	on := controlPlane(b)
	s := newSeed(b, on, objects)
	for _, load := range loads {
		b.Run(load.name, func(b *testing.B) {
			r := s.observe(b, on, load.mode, load.others, window)
			b.ReportMetric(r.CPU.Seconds()/r.Took.Seconds(), "cores")
			b.ReportMetric(float64(r.Heap), "heap-bytes")
			b.ReportMetric(float64(r.StartWrites), "start-writes")
			b.ReportMetric(float64(r.Reconciles), "reconciles")
			b.ReportMetric(float64(r.others), "others-writes")
			b.ReportMetric(0, "ns/op") // depends only on the length of the window
		})
	}
}

// TestIdle checks, with few objects, that a manager writes nothing when all objects are as wanted. A status written by others
// wakes the reconcilers written by hand, but not those of coapply.For.
func TestIdle(t *testing.T) {
	on := controlPlane(t)
	s := newSeed(t, on, 20)
	for _, load := range loads {
		r := s.observe(t, on, load.mode, load.others, 2*time.Second)
		if r.StartWrites != 0 || r.Writes != 0 || (r.others > 0) != load.others {
			t.Errorf("%s: %d writes at the start and %d later, want none; %d writes of others", load.name, r.StartWrites, r.Writes, r.others)
		}
		if load.mode == byHand && r.Reconciles < r.others || load.name == "coapply" && r.Reconciles >= r.others {
			t.Errorf("%s: %d reconciles for %d writes of others", load.name, r.Reconciles, r.others)
		}
	}
}

// order is the order to a manager process.
type order struct {
	Mode            mode
	Objects         int
	Namespace, Host string
	TLS             rest.TLSClientConfig
	BearerToken     string
}

// orderVariable is the environment variable with the order to a manager process, in JSON.
const orderVariable = "COAPPLY_PEERS_ORDER"

// observe starts a manager process and measures it for the given time. The process is this program. It prints a line when
// the window begins, and the report when its standard input ends.
func (s *seed) observe(t testing.TB, on *target.Target, m mode, others bool, window time.Duration) (r report) {
	t.Helper()
	config := on.Admin()
	told, err := json.Marshal(order{m, s.objects, s.namespace, config.Host, config.TLSClientConfig, config.BearerToken})
	fatal(t, err)
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env, process.Stderr = append(os.Environ(), orderVariable+"="+string(told)), os.Stderr
	in, err := process.StdinPipe()
	fatal(t, err)
	out, err := process.StdoutPipe()
	fatal(t, err)
	fatal(t, process.Start())
	said := json.NewDecoder(out)
	fatal(t, said.Decode(&struct{}{}))
	if others {
		r.others = s.writeStatuses(t, window)
	} else {
		time.Sleep(window)
	}
	fatal(t, in.Close())
	fatal(t, said.Decode(&r))
	fatal(t, process.Wait())
	return r
}
