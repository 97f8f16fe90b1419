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

// scrapeTimeout bounds one page. Under load the API server's takes a good part of a second.
const scrapeTimeout = 15 * time.Second

// Snapshot is what the API server and etcd had counted at one moment.
type Snapshot struct {
	apiserver, etcd page
	level           priority
}

// Scrape reads the pages of metrics, etcd's on the local control plane only. A page that the cluster does not have or
// does not show is left out; the error is for one that did not answer.
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

// writing are the verbs of requests that change objects, as the API server counts them.
var writing = []string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}

// Until is what was counted between two snapshots of one target; nil for what a page does not have, or what began again
// with its process. Requests, updates and gets are those of the kinds, or of all kinds if none is given; all else is the
// whole server's, whoever caused it. Revisions, events and sizes are left for the caller, who has the watch.
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

// of selects the resources of kinds, and a label's values.
func of(kinds []compare.Kind, label string, values ...string) where {
	w := where{label: values}
	for _, kind := range kinds {
		w["group"] = append(w["group"], kind.Group)
		w["resource"] = append(w["resource"], kind.Resource)
	}
	return w
}
