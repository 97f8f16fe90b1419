package applytest

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// etcd is an etcd in memory. It has the features that the storage layer of k8s.io/apiserver uses: keys with revisions,
// writes that are conditional on a revision, and watches. It never compacts.
type etcd struct {
	clientv3.KV // nil: of its methods, the storage layer calls only Get and GetStream, which etcd defines itself

	mu       sync.Mutex
	revision int64
	keys     map[string]*mvccpb.KeyValue
	log      []*clientv3.Event // log[r-2] is the event of revision r: the first write has revision 2
	written  chan struct{}     // closed at the next write or change of the field shown; nil if no watch waits
	shown    int64             // watches get the events up to this revision
}

func newEtcd() *etcd {
	return &etcd{revision: 1, keys: map[string]*mvccpb.KeyValue{}, shown: math.MaxInt64}
}

// client returns an etcd client that calls the methods of e. Its calls and watches end with ctx.
func (e *etcd) client(ctx context.Context) *kubernetes.Client {
	c := clientv3.NewCtxClient(ctx)
	c.KV, c.Watcher = e, etcdWatcher{e}
	return &kubernetes.Client{Client: c, Kubernetes: etcdKeys{e}}
}

// at returns the key-value pairs whose keys have the prefix, as of a revision, sorted by key. Revision 0 means the
// latest revision.
func (e *etcd) at(prefix string, revision int64) []*mvccpb.KeyValue {
	found := map[string]*mvccpb.KeyValue{}
	for key, kv := range e.keys {
		if strings.HasPrefix(key, prefix) {
			found[key] = kv
		}
	}
	for i := len(e.log) - 1; revision > 0 && i >= 0 && e.log[i].Kv.ModRevision > revision; i-- {
		event := e.log[i]
		switch key := string(event.Kv.Key); {
		case !strings.HasPrefix(key, prefix):
		case event.PrevKv == nil:
			delete(found, key)
		default:
			found[key] = event.PrevKv
		}
	}
	kvs := slices.Collect(maps.Values(found))
	slices.SortFunc(kvs, func(a, b *mvccpb.KeyValue) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return kvs
}

// write stores a value under a key, at the next revision. A nil value deletes the key.
func (e *etcd) write(key string, value []byte) *mvccpb.KeyValue {
	e.revision++
	before := e.keys[key]
	kv := &mvccpb.KeyValue{Key: []byte(key), Value: value, ModRevision: e.revision, CreateRevision: e.revision, Version: 1}
	event := &clientv3.Event{Type: clientv3.EventTypePut, Kv: kv, PrevKv: before}
	if before != nil {
		kv.CreateRevision, kv.Version = before.CreateRevision, before.Version+1
	}
	if value == nil {
		event.Type, event.Kv = clientv3.EventTypeDelete, &mvccpb.KeyValue{Key: []byte(key), ModRevision: e.revision}
		delete(e.keys, key)
	} else {
		e.keys[key] = kv
	}
	e.log = append(e.log, event)
	e.wake()
	return kv
}

// wake notifies the waiting watches by closing the channel written. The next watch that waits makes a new
// channel. wake makes none: a channel that a test in a synctest bubble makes must not be closed outside the bubble.
func (e *etcd) wake() {
	if e.written != nil {
		close(e.written)
		e.written = nil
	}
}

// show calls next, and then lets the watches get all events up to the revision that next returns.
func (e *etcd) show(next func(revision, shown int64) int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown = next(e.revision, e.shown)
	e.wake()
}

// Get returns the key-value pairs of a key or prefix. The storage layer calls Get at the start of a watch.
func (e *etcd) Get(_ context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	op := clientv3.OpGet(key, options...)
	response := &clientv3.GetResponse{Header: &pb.ResponseHeader{Revision: e.revision}}
	for _, kv := range e.at(key, op.Rev()) {
		if len(op.RangeBytes()) > 0 || string(kv.Key) == key {
			response.Kvs = append(response.Kvs, kv)
		}
	}
	response.Count = int64(len(response.Kvs))
	return response, nil
}

// GetStream returns the error Unimplemented, so that the storage layer uses List instead, as with an etcd before 3.7.
func (e *etcd) GetStream(context.Context, string, ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	return nil, status.Error(codes.Unimplemented, "")
}

// etcdKeys implements the interface through which the API server's storage layer reads and writes keys.
type etcdKeys struct{ *etcd }

func (e etcdKeys) Get(_ context.Context, key string, options kubernetes.GetOptions) (kubernetes.GetResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	response := kubernetes.GetResponse{Revision: e.revision, KV: e.keys[key]}
	if options.Revision > 0 {
		response.KV = nil
		if kvs := e.at(key, options.Revision); len(kvs) > 0 && string(kvs[0].Key) == key {
			response.KV = kvs[0]
		}
	}
	return response, nil
}

func (e etcdKeys) List(_ context.Context, prefix string, options kubernetes.ListOptions) (kubernetes.ListResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	kvs := e.at(prefix, options.Revision)
	response := kubernetes.ListResponse{Revision: e.revision}
	for _, kv := range kvs {
		if string(kv.Key) < options.Continue {
			continue
		}
		response.Count++
		if options.Limit == 0 || int64(len(response.Kvs)) < options.Limit {
			response.Kvs = append(response.Kvs, kv)
		}
	}
	return response, nil
}

func (e etcdKeys) Count(_ context.Context, prefix string, _ kubernetes.CountOptions) (int64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return int64(len(e.at(prefix, 0))), nil
}

// expected returns the key-value pair, and reports whether its revision is the given one. A missing key has revision 0.
func (e etcdKeys) expected(key string, revision int64) (*mvccpb.KeyValue, bool) {
	kv := e.keys[key]
	if kv == nil {
		return nil, revision == 0
	}
	return kv, kv.ModRevision == revision
}

func (e etcdKeys) OptimisticPut(_ context.Context, key string, value []byte, revision int64, options kubernetes.PutOptions) (kubernetes.PutResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	kv, ok := e.expected(key, revision)
	if ok {
		kv = e.write(key, value)
	} else if !options.GetOnFailure {
		kv = nil
	}
	return kubernetes.PutResponse{KV: kv, Succeeded: ok, Revision: e.revision}, nil
}

func (e etcdKeys) OptimisticDelete(_ context.Context, key string, revision int64, options kubernetes.DeleteOptions) (kubernetes.DeleteResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	kv, ok := e.expected(key, revision)
	if ok {
		e.write(key, nil)
	} else if !options.GetOnFailure {
		kv = nil
	}
	return kubernetes.DeleteResponse{KV: kv, Succeeded: ok, Revision: e.revision}, nil
}

type etcdWatcher struct{ *etcd }

func (e etcdWatcher) Watch(ctx context.Context, key string, options ...clientv3.OpOption) clientv3.WatchChan {
	op := clientv3.OpGet(key, options...)
	next, recursive := op.Rev(), len(op.RangeBytes()) > 0
	events := make(chan clientv3.WatchResponse)
	go func() {
		defer close(events)
		for {
			e.mu.Lock()
			response := clientv3.WatchResponse{Header: &pb.ResponseHeader{Revision: e.revision}}
			seen := min(e.revision, e.shown)
			for i := max(next-2, 0); i < seen-1; i++ {
				if at := string(e.log[i].Kv.Key); at == key || recursive && strings.HasPrefix(at, key) {
					response.Events = append(response.Events, e.log[i])
				}
			}
			next = max(next, seen+1)
			if e.written == nil {
				e.written = make(chan struct{})
			}
			written := e.written
			e.mu.Unlock()
			if len(response.Events) > 0 {
				select {
				case events <- response:
					continue
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-written:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}

func (etcdWatcher) RequestProgress(context.Context) error { return nil }
func (etcdWatcher) Close() error                          { return nil }
