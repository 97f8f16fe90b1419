package trial

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"coapply.dev/compare"
	"coapply.dev/platform/api/v1alpha1"
)

// session contains the clients of one trial. Each field manager has a connection of its own, like the process of a
// controller. Requests of field managers are counted; requests of the administrator are not.
type session struct {
	user   *rest.Config
	rtt    time.Duration
	tally  *tally
	mapper meta.RESTMapper
	admin  *connection
	// schemas gets the OpenAPI schemas as the administrator.
	schemas openapi.Client

	mu        sync.Mutex
	byManager map[string]*connection
}

// connection is an HTTP transport with the clients that use it.
type connection struct {
	config *rest.Config
	http   *http.Client
	client client.Client
}

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // impossible: every test would fail
		}
	}
	return s
}()

var codecs = serializer.NewCodecFactory(scheme).WithoutConversion()

// newSession returns a session with a connection of the administrator. All clients share the administrator's
// discovery, because discovery requests of the other clients would be counted.
func newSession(p place, rtt time.Duration) (*session, error) {
	s := &session{user: p.user, rtt: rtt, tally: newTally(), byManager: map[string]*connection{}}
	admin, err := connect(p.admin, waiting)
	if err != nil {
		return nil, fmt.Errorf("making the administrator's HTTP client: %w", err)
	}
	if s.mapper, err = apiutil.NewDynamicRESTMapper(admin.config, admin.http); err != nil {
		return nil, fmt.Errorf("making the administrator's REST mapper: %w", err)
	}
	set, err := discovery.NewDiscoveryClientForConfigAndClient(admin.config, admin.http)
	if err != nil {
		return nil, fmt.Errorf("making the administrator's discovery client: %w", err)
	}
	s.admin, s.schemas = admin, set.OpenAPIV3()
	return s, s.admin.open(s.mapper)
}

// connect returns a connection with its own HTTP transport, which also authenticates the requests. All clients made
// from the connection's config share this transport, use JSON and have no rate limit.
func connect(
	base *rest.Config, wrap func(http.RoundTripper) http.RoundTripper,
) (*connection, error) {
	config := rest.CopyConfig(base)
	if config.Dial == nil { // a function of its own, so that client-go does not share the transport with other clients
		config.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	config.Wrap(wrap)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	json := rest.ContentConfig{ContentType: runtime.ContentTypeJSON, AcceptContentTypes: runtime.ContentTypeJSON}
	return &connection{http: httpClient, config: &rest.Config{
		Host: host.String(), Transport: httpClient.Transport, QPS: -1, ContentConfig: json, UserAgent: "coapply-compare",
		WarningHandler: rest.NoWarnings{},
	}}, nil
}

func (c *connection) open(mapper meta.RESTMapper) (err error) {
	c.client, err = client.New(c.config, client.Options{HTTPClient: c.http, Scheme: scheme, Mapper: mapper})
	return err
}

func (c *connection) close() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

// of returns the connection of a field manager. The connection is made at the first call for this manager.
func (s *session) of(manager string) *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.byManager[manager]
	if !ok {
		known = s.connectUser()
		s.byManager[manager] = known
	}
	return known
}

// connectUser makes a connection of the benchmark's user. It panics on an error, because compare.Session cannot return an
// error. The trial is then void.
func (s *session) connectUser() *connection {
	made, err := connect(s.user, func(next http.RoundTripper) http.RoundTripper {
		return &counting{next: delay(next, s.rtt), tally: s.tally}
	})
	if err == nil {
		err = made.open(s.mapper)
	}
	if err != nil {
		panic(fmt.Errorf("making a client of the benchmark's user: %w", err))
	}
	return made
}

// arms returns the session as a compare.Session for the arms.
func (s *session) arms(cache client.Reader) compare.Session {
	return compare.Session{
		Client:  func(manager string) client.Client { return s.of(manager).client },
		Config:  func(manager string) *rest.Config { return rest.CopyConfig(s.of(manager).config) },
		Schemas: s.schemas,
		Cache:   cache,
	}
}

func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.byManager {
		c.close()
	}
	s.admin.close()
}
