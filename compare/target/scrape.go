package target

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// scrapeTimeout is the time limit for reading metrics. Under load, the API server needs a large fraction of a second to return them.
const scrapeTimeout = 15 * time.Second

// Snapshot contains the metrics of the API server and etcd at one moment.
type Snapshot struct {
	apiserver, etcd page
	level           priority
}

// Scrape reads the metrics of the API server and, on a local control plane, of etcd. A page that does not exist, or that
// the benchmark may not read, is missing in the Snapshot and is no error. It is an error if a server does not respond.
func (t *Target) Scrape(ctx context.Context) (Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	s := Snapshot{level: t.level}
	if !t.several {
		address, _, err := rest.DefaultServerUrlFor(t.admin)
		if err != nil {
			return Snapshot{}, fmt.Errorf("reading the API server's metrics: %w", err)
		}
		if s.apiserver, err = fetchPage(ctx, t.http, address.JoinPath("metrics").String()); err != nil {
			return Snapshot{}, fmt.Errorf("reading the API server's metrics: %w", err)
		}
	}
	if t.cluster != nil {
		var err error
		if s.etcd, err = fetchPage(ctx, http.DefaultClient, processes{t.cluster.Dir()}.etcd()+"/metrics"); err != nil {
			return Snapshot{}, fmt.Errorf("reading etcd's metrics: %w", err)
		}
	}
	return s, nil
}

// writing lists the verbs of requests that change objects, as they appear in metrics of the API server.
var writing = []string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}

// Until returns the growth of the metrics from this snapshot to a later one of the same target. A value is nil if
// its metric is missing in a page, or if the server was restarted in between. RequestSeconds, Updates and Gets count
// only requests for the given kinds, or for all kinds if none is given. All other values are for the whole server,
// including work for other clients. Revisions, events and sizes are not set: the caller gets them from its watches.
func (before Snapshot) Until(after Snapshot, kinds ...compare.Kind) results.Server {
	server := results.Server{
		APIServerCPU:    grown(before.apiserver, after.apiserver, cpuSeconds, nil),
		APIServerAllocs: grown(before.apiserver, after.apiserver, allocatedObjects, nil),
		APIServerBytes:  grown(before.apiserver, after.apiserver, allocatedBytes, nil),
		RequestSeconds:  grown(before.apiserver, after.apiserver, requestSeconds, of(kinds, "verb", writing...)),
		Updates:         grown(before.apiserver, after.apiserver, etcdRequests, of(kinds, "operation", "update")),
		Gets:            grown(before.apiserver, after.apiserver, etcdRequests, of(kinds, "operation", "get")),
		EtcdCPU:         grown(before.etcd, after.etcd, cpuSeconds, nil),
		Proposals:       grown(before.etcd, after.etcd, proposals, nil),
		PriorityLevel:   after.level.level,
	}
	if level := after.level; level.level != "" {
		server.QueueSeconds = grown(before.apiserver, after.apiserver, queueSeconds,
			where{"priority_level": {level.level}, "flow_schema": {level.flowSchema}})
	}
	return server
}

// of returns a selector for time series of the given kinds in which the given label has one of the given values.
func of(kinds []compare.Kind, label string, values ...string) where {
	w := where{label: values}
	for _, kind := range kinds {
		w["group"] = append(w["group"], kind.Group)
		w["resource"] = append(w["resource"], kind.Resource)
	}
	return w
}
