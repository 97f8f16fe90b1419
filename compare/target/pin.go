package target

import (
	"errors"
	"fmt"
	"runtime"
)

// pinned lists the cores to which the servers and the benchmark are pinned. Without pinning, the field why gives the reason.
type pinned struct {
	server, generator []int
	why               string
}

// Cores returns the number of cores that the API server and etcd may use, and the number that the benchmark's
// processes may use. 0 means that the number is not known, such as for a server on another machine.
func (t *Target) Cores() (server, generator int) {
	switch {
	case len(t.pins.server) > 0:
		return len(t.pins.server), len(t.pins.generator)
	case t.IsLocal():
		return runtime.NumCPU(), runtime.NumCPU()
	}
	return 0, runtime.NumCPU()
}

// Pin pins the API server and etcd to one core, and this process and its children to the other cores, so that they do not compete
// for CPU time. If this is not possible, the reason is in Environment.Unpinned. Close undoes the pinning of this process.
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
		err = errors.New("the machine has only one core")
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
	t.unpin = func() { _ = confine(0, cores) }
	return p
}
