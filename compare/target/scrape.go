package target

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
	var err error
	if !t.several {
		if s.apiserver, err = t.apiserverPage(ctx); err != nil {
			return Snapshot{}, fmt.Errorf("reading the API server's metrics: %w", err)
		}
	}
	if t.cluster != nil {
		if s.etcd, err = etcdPage(ctx, t.cluster.Etcd()); err != nil {
			return Snapshot{}, fmt.Errorf("reading etcd's metrics: %w", err)
		}
	}
	return s, nil
}

func (t *Target) apiserverPage(ctx context.Context) (page, error) {
	body, err := t.set.Discovery().RESTClient().Get().AbsPath("/metrics").Stream(ctx)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer body.Close()
	return readPage(body)
}

func etcdPage(ctx context.Context, server string) (page, error) {
	body, err := get(ctx, http.DefaultClient, server+"/metrics")
	if err != nil {
		return nil, err
	}
	return readPage(bytes.NewReader(body))
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
