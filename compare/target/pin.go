package target

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Cores returns the number of cores that the API server and etcd may use, and the number that the benchmark's
// processes may use. 0 means that the number is not known, such as for a server on another machine.
func (t *Target) Cores() (server, generator int) {
	e := t.environment
	switch {
	case len(e.ServerCores) > 0:
		return len(e.ServerCores), len(e.GeneratorCores)
	case t.IsLocal():
		return runtime.NumCPU(), runtime.NumCPU()
	}
	return 0, runtime.NumCPU()
}

// Pin pins the API server and etcd of a local control plane to one core, and this process and its children to the other cores, so
// that they do not compete for CPU time. If this is not possible, the reason is in Environment.Unpinned. Close undoes the pinning of this process.
func (t *Target) Pin() {
	e := &t.environment
	server, generator, err := t.pin()
	if err != nil {
		e.Unpinned = err.Error()
		fmt.Fprintln(t.log, "API server, etcd and writers share all cores, because pinning failed:", err)
		return
	}
	e.ServerCores, e.GeneratorCores = server, generator
	fmt.Fprintf(t.log, "API server and etcd run on core %d, the writers on %v\n", server[0], generator)
}

func (t *Target) pin() (server, generator []int, err error) {
	cores, err := allowed()
	if err != nil {
		return nil, nil, err
	}
	if len(cores) < 2 {
		return nil, nil, errors.New("the machine has only one core")
	}
	for _, piece := range []string{"kube-apiserver", "etcd"} {
		pid, _, err := processes{t.cluster.Dir()}.find(piece)
		if err != nil {
			return nil, nil, err
		}
		if err := confine(pid, cores[:1]); err != nil {
			return nil, nil, err
		}
	}
	t.unpin = func() { _ = confine(os.Getpid(), cores) }
	return cores[:1], cores[1:], confine(os.Getpid(), cores[1:])
}
