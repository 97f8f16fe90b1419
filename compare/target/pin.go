package target

import (
	"errors"
	"fmt"
	"runtime"
)

// pinned is which cores the parts of a run may use. Without any it is those of the machine, and why says why.
type pinned struct {
	server, generator []int
	why               string
}

// Cores returns how many cores API server and etcd, and the benchmark's processes, may use; 0 where that is not known, as
// of a server elsewhere.
func (t *Target) Cores() (server, generator int) {
	switch {
	case len(t.pins.server) > 0:
		return len(t.pins.server), len(t.pins.generator)
	case t.IsLocal():
		return runtime.NumCPU(), runtime.NumCPU()
	}
	return 0, runtime.NumCPU()
}

// Pin confines API server and etcd to one core, and this process, with those that it starts, to the others: neither then takes time
// from the other unseen. Where that cannot be, the environment says why. Close gives this process its cores back.
func (t *Target) Pin() {
	t.pins = t.pin()
	e := &t.environment
	e.ServerCores, e.GeneratorCores, e.Unpinned = t.pins.server, t.pins.generator, t.pins.why
	if t.pins.why != "" {
		fmt.Fprintln(t.log, "API server, etcd and writers share the cores:", t.pins.why)
		return
	}
	fmt.Fprintf(t.log, "API server and etcd run on core %d, the writers on %v\n", t.pins.server[0], t.pins.generator)
}

func (t *Target) pin() pinned {
	if !t.IsLocal() {
		return pinned{why: "the cluster is not this run's own"}
	}
	cores, err := allowed()
	if err == nil && len(cores) < 2 {
		err = errors.New("there is one core")
	}
	if err != nil {
		return pinned{why: err.Error()}
	}
	p := pinned{server: cores[:1], generator: cores[1:]}
	for _, piece := range []string{"kube-apiserver", "etcd"} {
		pid, _, err := processes{t.cluster.Dir()}.find(piece)
		if err == nil {
			err = confine(pid, p.server)
		}
		if err != nil {
			return pinned{why: err.Error()}
		}
	}
	if err := confine(0, p.generator); err != nil {
		return pinned{why: err.Error()}
	}
	t.unpin = func() { _ = confine(0, cores) } // as it was
	return p
}
