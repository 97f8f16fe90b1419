package compare

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"coapply.dev/compare"
	"coapply.dev/compare/arms"
	"coapply.dev/compare/history"
	"coapply.dev/compare/target"
	trials "coapply.dev/compare/trial"
	"coapply.dev/compare/workloads"
	"coapply.dev/test/kit"
)

// targetAt opens an API server as if it were a user's cluster.
func targetAt(t testing.TB, config *rest.Config) *target.Target {
	t.Helper()
	on, err := target.Connect(t.Context(), target.Options{Kubeconfig: kubeconfigOf(t, config), Log: io.Discard}, func(string) (bool, error) { return true, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := on.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return on
}

// hotTrial is a short one of hot-object.
func hotTrial(t testing.TB, arm string, order int, change func(*compare.Parameters)) trials.Spec {
	t.Helper()
	c := compare.Catalogue{Arms: arms.All(), Workloads: workloads.All()}
	workload, found := c.Workload("hot-object")
	writes, known := c.Arm(arm)
	if !found || !known {
		t.Fatalf("there is no arm %s, or no workload hot-object", arm)
	}
	pool := &trials.Pool{}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	spec := trials.Spec{ID: arm, Workload: workload, Arm: writes, Order: order, Seed: 1, Pool: pool}
	spec.Cell = compare.Cell{Workload: workload.Name, Parameters: compare.Parameters{
		Writers: 4, Objects: 1, Managers: 4, Warmup: 100 * time.Millisecond, Duration: 400 * time.Millisecond,
	}}
	change(&spec.Cell.Parameters)
	return spec
}

func runTrial(t testing.TB, on *target.Target, spec trials.Spec) trials.Recorded {
	t.Helper()
	recorded, err := trials.Run(t.Context(), on, spec)
	if err != nil {
		t.Fatalf("%s: %v", spec.ID, err)
	}
	return recorded
}

var record = flag.Bool("record", false, "save histories of trials for the tests of the oracle")

// saveHistory writes a history to the test data of the oracle, which checks it with porcupine.
func saveHistory(t *testing.T, name string, h history.History) {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	err := errors.Join(json.NewEncoder(compressed).Encode(h), compressed.Close())
	if err == nil {
		err = os.WriteFile(filepath.Join("..", "oracle", "testdata", name+".json.gz"), out.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What the server acknowledged, the watch has seen; and what is lost, the oracle sees.
func TestCompareTrial(t *testing.T) {
	t.Parallel()
	on := targetAt(t, kit.Server(t))
	same := func(*compare.Parameters) {}
	for i, c := range []struct {
		arm    string
		change func(*compare.Parameters)
		loses  bool
	}{
		{arm: "ssa", change: same},
		{arm: "gmu-default-retry", change: same},
		{arm: "gmu-requeue", change: func(p *compare.Parameters) { p.RTT = 4 * time.Millisecond }},
		{arm: "apply", change: func(p *compare.Parameters) { p.Rate = 200 }},
		{arm: "put-no-rv", change: same, loses: true},
		{arm: "ssa", change: func(p *compare.Parameters) { p.Processes = 4 }},
		{arm: "gmu-requeue", change: func(p *compare.Parameters) { p.Processes, p.RTT = 2, 4*time.Millisecond }},
		{arm: "apply", change: func(p *compare.Parameters) { p.Processes, p.Rate = 2, 200 }},
		{arm: "put-no-rv", change: func(p *compare.Parameters) { p.Processes = 4 }, loses: true},
	} {
		recorded := runTrial(t, on, hotTrial(t, c.arm, i, c.change))
		if *record && i < 5 {
			saveHistory(t, c.arm, recorded.History)
		}
		got := recorded.Trial
		o := got.Oracle
		if got.Void != "" || o.Acknowledged == 0 || o.Found != o.Acknowledged {
			t.Errorf("%s: void %q; %d of %d acknowledged intents found", c.arm, got.Void, o.Found, o.Acknowledged)
		}
		if lost := o.LostUpdates() > 0; lost != c.loses || o.Phantom > 0 {
			t.Errorf("%s: %+v", c.arm, o)
		}
		if got.All.Landed != o.Acknowledged || got.Server.Revisions != o.Acknowledged {
			t.Errorf("%s: %d landed, %d acknowledged, %d revisions", c.arm, got.All.Landed, o.Acknowledged, got.Server.Revisions)
		}
		if got.Client.LimiterWaits != 0 {
			t.Errorf("%s: %+v", c.arm, got.Client)
		}
		if open := got.Open; (open != nil) != (got.Rate > 0) ||
			open != nil && (open.Arrived < got.All.Intents || (open.Converged == nil) != (open.Arrived > got.All.Landed)) {
			t.Errorf("%s: an open loop of %d intents a second gives %+v, %d intents", c.arm, int(got.Rate), open, got.All.Intents)
		}
		if load := got.Load; load.Generator == nil || *load.Generator <= 0 {
			t.Errorf("%s: the generator took no processor time: %+v", c.arm, load)
		}
		sent := 0
		for key, requests := range got.Client.Requests {
			if !strings.HasPrefix(key, "GET") {
				sent += requests
			}
		}
		if want := got.All.Landed + got.Client.StaleWrites; sent != want {
			t.Errorf("%s: %d writes were sent, %d landed or were stale: %v", c.arm, sent, want, got.Client.Requests)
		}
	}
}

// An API server that goes away in the middle makes the trial void; the next one counts.
func TestCompareTrialWithoutItsServer(t *testing.T) {
	t.Parallel()
	config := kit.Server(t)
	line := newCable(t, strings.Trim(strings.TrimPrefix(config.Host, "https:"), "/"))
	config.Host = "https://" + line.at
	on := targetAt(t, config)
	spec := hotTrial(t, "ssa", 0, func(p *compare.Parameters) { p.Duration = time.Hour })
	arm := spec.Arm.New
	spec.Arm.New = func(s compare.Session) (compare.Writer, error) {
		writer, err := arm(s)
		return &cutting{Writer: writer, line: line}, err
	}
	got := runTrial(t, on, spec)
	if void := got.Trial.Void; !strings.Contains(void, "connect: connection refused") {
		t.Errorf("void: %q", void)
	}
	if got.Trial.All.Landed == 0 || got.Trial.Measured <= 0 {
		t.Errorf("what was measured is lost: %+v", got.Trial.All)
	}
	line.mend()
	if got := runTrial(t, on, hotTrial(t, "ssa", 1, func(*compare.Parameters) {})); got.Trial.Void != "" {
		t.Errorf("the trial after it is void: %s", got.Trial.Void)
	}
}

// cutting cuts a cable when so many intents have landed that the warm-up is over.
type cutting struct {
	compare.Writer

	line   *cable
	landed atomic.Int32
}

func (c *cutting) Write(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
	receipt, err := c.Writer.Write(ctx, intent)
	if err == nil && c.landed.Add(1) == 100 {
		c.line.cut()
	}
	return receipt, err
}

// cable leads to a server and can be cut: connections break, and new ones are refused.
type cable struct {
	t           *testing.T
	at, to      string
	running     sync.WaitGroup
	mu          sync.Mutex
	listener    net.Listener
	connections []net.Conn
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	c := &cable{t: t, at: "127.0.0.1:0", to: to}
	c.mend()
	t.Cleanup(func() {
		c.cut()
		c.running.Wait()
	})
	return c
}

func (c *cable) mend() {
	listener, err := net.Listen("tcp", c.at)
	if err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listener, c.at = listener, listener.Addr().String()
	c.running.Go(func() { c.accept(listener) })
}

func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener != nil {
		_ = c.listener.Close()
		c.listener = nil
	}
	for _, connection := range c.connections {
		_ = connection.Close()
	}
}

func (c *cable) accept(listener net.Listener) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", c.to)
		if err != nil {
			_ = from.Close()
			continue
		}
		c.mu.Lock()
		c.connections = append(c.connections, from, to)
		if c.listener != listener { // it was cut meanwhile
			_, _ = from.Close(), to.Close()
		}
		c.mu.Unlock()
		for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
			c.running.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = pair[0].Close()
				_ = pair[1].Close()
			})
		}
	}
}
