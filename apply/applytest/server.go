package applytest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	restful "github.com/emicklei/go-restful/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/handler3"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Server is an API server in memory. It runs the code of kube-apiserver for request handlers, managed fields,
// validation and storage (k8s.io/apiserver and k8s.io/apiextensions-apiserver), on a map in place of etcd. So it
// responds like kube-apiserver. A Server is also a client of itself (client.WithWatch).
type Server struct {
	client.WithWatch // made with Config

	etcd    *etcd
	handler http.Handler
	groups  discovery.GroupManager
	openapi *handler3.OpenAPIService
	crds    *crds
	scheme  *runtime.Scheme

	namespaces *genericregistry.Store

	mu     sync.Mutex
	faults []*Fault
	ctx    context.Context // the server stops when ctx ends
}

// ServerOption is an option of NewServer and StartServer.
type ServerOption func(*Server)

// WithScheme sets the scheme of the Server's client, caches and managers. Without this option, it is the scheme of
// client-go, with the built-in types.
func WithScheme(scheme *runtime.Scheme) ServerOption {
	return func(s *Server) { s.scheme = scheme }
}

// NewServer starts an API server in memory, which runs until the end of the test. The namespace default exists.
func NewServer(t testing.TB, options ...ServerOption) *Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	s, err := StartServer(ctx, options...)
	if err != nil {
		t.Fatalf("applytest: starting the API server in memory: %v", err)
	}
	return s
}

// StartServer starts an API server in memory, which several tests can share. The server runs until ctx ends. The
// namespace default exists.
func StartServer(ctx context.Context, options ...ServerOption) (*Server, error) {
	s := &Server{etcd: newEtcd(), ctx: ctx, scheme: clientgoscheme.Scheme}
	for _, option := range options {
		option(s)
	}
	err := s.start()
	return s, err
}

// Config returns the rest.Config for clients of the server. Their requests do not use a network.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: "http://applytest", Transport: transport{s}, QPS: -1}
}

func (s *Server) start() (err error) {
	container := restful.NewContainer()
	container.ServeMux = http.NewServeMux()
	container.Router(restful.CurlyRouter{})
	s.groups = discovery.NewRootAPIsHandler(discovery.DefaultAddresses{DefaultAddress: "applytest"}, builtinCodecs)
	container.Add(s.groups.WebService())
	if err := s.installBuiltin(container); err != nil {
		return err
	}
	if err := s.installCRDs(container); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/version", serveVersion)
	if err := s.serveOpenAPI(mux); err != nil {
		return err
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) { s.serveAPI(container, w, req) })
	s.handler = filters.WithAuditInit(filters.WithRequestInfo(filters.WithRequestReceivedTimestamp(filters.WithWarningRecorder(mux)), requestInfo))
	if s.WithWatch, err = client.NewWithWatch(s.Config(), client.Options{Scheme: s.scheme}); err != nil {
		return err
	}
	return s.Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
}

// admin is the user of all requests to the server.
var admin = &user.DefaultInfo{Name: "applytest", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}

// serveAPI serves the resources of the API. When a write of a CRD has returned, the server already serves the CRD.
func (s *Server) serveAPI(container http.Handler, w http.ResponseWriter, req *http.Request) {
	info, _ := request.RequestInfoFrom(req.Context())
	req = req.WithContext(request.WithUser(req.Context(), admin))
	switch {
	case !s.builtin(req.URL.Path):
		s.crds.ServeHTTP(w, req)
	case info.Resource != "customresourcedefinitions" || info.Verb == "get" || info.Verb == "list" || info.Verb == "watch":
		container.ServeHTTP(w, req)
	default:
		written := &answer{header: w.Header()}
		container.ServeHTTP(written, req)
		if err := s.crds.sync(); err != nil {
			answerWith(fmt.Errorf("applytest: serving the CRDs: %w", err), w, req)
			return
		}
		w.WriteHeader(cmp.Or(written.status, http.StatusOK))
		_, _ = w.Write(written.body.Bytes())
	}
}

// builtin reports whether a URL path belongs to an API group with built-in kinds, or to no API group.
func (s *Server) builtin(path string) bool {
	group, below := strings.CutPrefix(path, "/apis/")
	group, _, _ = strings.Cut(group, "/")
	return !below || group == "apiextensions.k8s.io" || slices.ContainsFunc(builtinGroups, func(g *builtinGroup) bool { return g.version.Group == group })
}

// notServed responds to a request for a kind that the server does not serve.
func (s *Server) notServed(w http.ResponseWriter, req *http.Request) {
	group, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/apis/"), "/")
	if strings.HasSuffix(group, ".k8s.io") || !strings.Contains(group, ".") {
		answerWith(&apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Message: "applytest does not model the path " + req.URL.Path,
		}}, w, req)
		return
	}
	http.Error(w, "404 page not found", http.StatusNotFound) // as kube-apiserver
}

// HoldEvents lets all watches, and so all caches, fall behind: from now on, they get no events of new writes.
func (s *Server) HoldEvents() {
	s.etcd.show(func(revision, shown int64) int64 { return min(revision, shown) })
}

// ReleaseEvents lets the watches get the events of the n oldest writes that HoldEvents holds back.
func (s *Server) ReleaseEvents(n int) {
	s.etcd.show(func(revision, shown int64) int64 {
		if shown == math.MaxInt64 {
			return shown // no events are held back
		}
		return min(revision, shown+int64(n))
	})
}

// ReleaseAllEvents lets the watches get all events again, and so ends HoldEvents.
func (s *Server) ReleaseAllEvents() { s.etcd.show(func(int64, int64) int64 { return math.MaxInt64 }) }

func serveVersion(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(version.Info{Major: "1", Minor: "37", GitVersion: "v1.37.2"})
}

const minRequestTimeout = 30 * time.Minute // the minimum time that a watch lasts

const maxRequestBytes = 3 << 20 // the same limit as in kube-apiserver
