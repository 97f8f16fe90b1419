package trial

import (
	"strings"
	"testing"
	"time"

	"coapply.dev/compare"
)

// spreadOver is a trial of four writers in several processes.
func spreadOver(t *testing.T, pool *Pool, arm string, processes int) Spec {
	t.Helper()
	c := spreading()
	writes, found := c.Arm(arm)
	if !found {
		t.Fatalf("there is no arm %s", arm)
	}
	return Spec{
		ID: "1", Workload: c.Workloads[0], Arm: writes, Seed: 1, Pool: pool,
		Cell: compare.Cell{Workload: "plain", Parameters: compare.Parameters{
			Writers: 4, Processes: processes, Warmup: 50 * time.Millisecond, Duration: 150 * time.Millisecond,
		}},
	}
}

// Writers of several processes are one trial: all of them write, and the oracle judges one history of all.
func TestWritersInSeveralProcesses(t *testing.T) {
	f, pool := newFakeServer(t), &Pool{}
	defer func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}()
	f.set("t", "start")
	for round, processes := range []int{2, 4, 2} { // processes serve one trial after the other
		got, err := run(t.Context(), f.place(), spreadOver(t, pool, "put", processes))
		if err != nil || got.Trial.Void != "" {
			t.Fatalf("round %d: void %q, %v", round, got.Trial.Void, err)
		}
		tr := got.Trial
		wrote := map[int]bool{}
		for _, o := range got.History.Operations {
			wrote[o.Writer] = true
		}
		if len(wrote) != 4 || tr.All.Landed == 0 || tr.All.Landed != tr.Oracle.Found || tr.Server.Revisions != tr.All.Landed {
			t.Errorf("round %d: writers %v, %+v, %+v, %d revisions", round, wrote, tr.All, tr.Oracle, tr.Server.Revisions)
		}
		if sent := tr.Client.Requests["PUT 200"]; sent != tr.All.Landed || tr.Client.CPU <= 0 {
			t.Errorf("round %d: %d requests of %d, %+v", round, sent, tr.All.Landed, tr.Client)
		}
		if len(pool.children) != max(processes, len(pool.children)) || round == 2 && len(pool.children) != 4 {
			t.Errorf("round %d: %d processes run", round, len(pool.children))
		}
	}
}

// Arrivals of an open loop come to all processes.
func TestOpenLoopInSeveralProcesses(t *testing.T) {
	f, pool := newFakeServer(t), &Pool{}
	defer func() { _ = pool.Close() }()
	spec := spreadOver(t, pool, "put", 2)
	spec.Cell.Rate = 200
	got, err := run(t.Context(), f.place(), spec)
	if err != nil || got.Trial.Void != "" {
		t.Fatal(err, got.Trial.Void)
	}
	open := got.Trial.Open
	if open == nil || open.Arrived == 0 || open.Arrived != got.Trial.All.Landed || open.Converged == nil {
		t.Errorf("%+v of %+v", open, got.Trial.All)
	}
}

// A process that ends makes the trial void, and the next has new ones.
func TestAProcessThatEnds(t *testing.T) {
	f, pool := newFakeServer(t), &Pool{}
	defer func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}()
	got, err := run(t.Context(), f.place(), spreadOver(t, pool, "dies", 2))
	if err != nil || !strings.Contains(got.Trial.Void, "a writer process ended before") {
		t.Errorf("void %q, %v", got.Trial.Void, err)
	}
	got, err = run(t.Context(), f.place(), spreadOver(t, pool, "put", 2))
	if err != nil || got.Trial.Void != "" {
		t.Errorf("the next trial: void %q, %v", got.Trial.Void, err)
	}
}
