package report

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// fact is a name with what it is.
type fact struct{ Name, Text string }

// environment is where the run was made. What could not be found out is n/a.
func (b *builder) environment() []fact {
	e := b.run.Environment
	cluster := "the user's own"
	if e.LocalCluster {
		cluster = "a local control plane, started for the run"
	}
	return []fact{
		{"coapply", either(e.Commit)},
		{"Go", either(e.Go)},
		{"control plane", cluster},
		{"API server", either(e.Server)},
		{"etcd", either(e.Etcd)},
		{"etcd fsync", either(e.EtcdFsync)},
		{"fsync of 4 KiB where etcd has its data", "p50 " + duration(e.FsyncP50) + ", p99 " + duration(e.FsyncP99)},
		{"file system", either(e.FileSystem)},
		{"empty GET, median", duration(e.LoopbackP50)},
		{"user", either(e.User)},
		{"groups", either(strings.Join(e.Groups, ", "))},
		{"rate limit of the clients", limit(e.QPS)},
		{"encoding", either(e.Encoding)},
		{"connections per trial", b.connections()},
		{"CPU", either(e.CPU)},
		{"cores", cores(e.Cores, e.GOMAXPROCS)},
		{"memory", memory(e.Memory)},
		{"limits of the control group", either(e.Limits)},
		{"system", either(strings.TrimSpace(e.OS + " " + e.Kernel))},
		{"load average before a trial", b.load()},
	}
}

func limit(qps float32) string {
	switch {
	case qps < 0:
		return "none (QPS " + exact(float64(qps)) + ")"
	case qps == 0:
		return na
	}
	return exact(float64(qps)) + " requests a second"
}

func cores(n, gomaxprocs int) string {
	if n == 0 {
		return na
	}
	return strconv.Itoa(n) + ", GOMAXPROCS " + strconv.Itoa(gomaxprocs)
}

func memory(bytes uint64) string {
	if bytes == 0 {
		return na
	}
	return number(float64(bytes)/(1<<30)) + " GiB"
}

// connections are what the clients opened, and the protocols that they spoke.
func (b *builder) connections() string {
	lo, hi := 0, 0
	var protocols []string
	for _, t := range b.trials {
		if t.Client.Connections == 0 { // an arm that had nothing to send
			continue
		}
		if hi == 0 {
			lo = t.Client.Connections
		}
		lo, hi = min(lo, t.Client.Connections), max(hi, t.Client.Connections)
		if t.Client.Protocol != "" {
			protocols = append(protocols, t.Client.Protocol)
		}
	}
	if hi == 0 {
		return na
	}
	slices.Sort(protocols)
	return span(count(lo), count(hi)) + " (" + either(strings.Join(slices.Compact(protocols), ", ")) + ")"
}

func (b *builder) load() string {
	var all []float64
	for _, t := range b.trials {
		if t.LoadAverage != nil {
			all = append(all, *t.LoadAverage)
		}
	}
	if len(all) == 0 {
		return na
	}
	return span(number(slices.Min(all)), number(slices.Max(all)))
}

func span(lo, hi string) string {
	if lo == hi {
		return lo
	}
	return lo + " to " + hi
}

// versions and flags are long: the page folds them.
func (b *builder) versions() table {
	t := table{Title: "Libraries", Columns: columns("module", "version")}
	for _, name := range sortedKeys(b.run.Environment.Modules) {
		t.add("", name, b.run.Environment.Modules[name])
	}
	return t
}

func (b *builder) flags() table {
	t := table{Title: "Flags of the API server and etcd", Columns: columns("process", "~flag")}
	for _, name := range sortedKeys(b.run.Environment.APIServerFlags) {
		t.add("", "kube-apiserver", "--"+strings.TrimLeft(name, "-")+"="+b.run.Environment.APIServerFlags[name])
	}
	for _, flag := range b.run.Environment.EtcdFlags {
		t.add("", "etcd", flag)
	}
	return t
}

// ended says how long the run took.
func (b *builder) ended() string {
	if b.run.Ended == nil {
		return "not ended"
	}
	return b.run.Ended.Sub(b.run.Started).Round(time.Second).String()
}
