package kit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"coapply.dev/internal/localcluster"
)

// Environment variables with the paths of the kubeconfigs of shared control planes. If unset, each package starts its own control planes.
const (
	serverVariable  = "COAPPLY_TEST_SERVER"
	clusterVariable = "COAPPLY_TEST_CLUSTER"
)

// inMemory has the arguments of the last call of InMemory.
var inMemory struct {
	start  func() (*rest.Config, error)
	except map[string]string
}

// InMemory makes Server return an API server in memory, which is much faster than a kube-apiserver. The function start starts it. The map except
// has the names of tests that need a kube-apiserver, with the reasons. make soak and the tests with other versions of Kubernetes run all tests on
// a kube-apiserver. start is a parameter because a test binary that contains the server takes a third longer to link.
func InMemory(start func() (*rest.Config, error), except map[string]string) {
	inMemory.start, inMemory.except = start, except
}

// isInMemory reports whether a test uses the API server in memory.
func isInMemory(t testing.TB) bool {
	name, _, _ := strings.Cut(t.Name(), "/")
	return inMemory.start != nil && inMemory.except[name] == "" && os.Getenv("K8S") == "" && os.Getenv("COAPPLY_REAL") == ""
}

// Main runs the tests of a package, and then calls StopAll.
func Main(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard()) // the API server in memory logs each refusal
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	unwatch := context.AfterFunc(ctx, func() { StopAll(); os.Exit(130) })
	code := m.Run()
	unwatch()
	stop()
	StopAll()
	os.Exit(code)
}

// Share starts an API server and a cluster for several processes, and returns environment variables with the paths of
// their kubeconfigs. StopAll stops both. If the variables are already set, Share starts nothing and returns nil.
func Share(ctx context.Context) (environment []string, err error) {
	if os.Getenv(serverVariable) != "" && os.Getenv(clusterVariable) != "" {
		return nil, nil
	}
	ctrl.SetLogger(logr.Discard())
	folder, err := os.MkdirTemp("", "coapply-test-")
	if err != nil {
		return nil, err
	}
	OnStop(func(context.Context) error { return os.RemoveAll(folder) })
	kubeconfig := filepath.Join(folder, "server")
	server := make(chan error, 1)
	go func() {
		started, err := startServer(ctx)
		if err == nil {
			err = started.WriteKubeconfig(kubeconfig)
		}
		server <- err
	}()
	cluster, err := StartCluster(ctx, "integration", 5)
	if err := errors.Join(err, <-server); err != nil {
		return nil, err
	}
	return []string{serverVariable + "=" + kubeconfig, clusterVariable + "=" + cluster.Kubeconfig()}, nil
}

func startServer(ctx context.Context) (*localcluster.APIServer, error) {
	server, err := localcluster.StartAPIServer(ctx, StartLog())
	if err != nil {
		return nil, err
	}
	OnStop(server.Stop)
	_, err = InstallCRDs(server.Config(), OurCRDs())
	return server, err
}

// StartCluster starts a whole control plane with our CRDs. StopAll stops it.
func StartCluster(ctx context.Context, name string, nodes int) (*localcluster.Cluster, error) {
	cluster, err := localcluster.Start(ctx, localcluster.Options{Name: name, Nodes: nodes, Log: StartLog()})
	if err != nil {
		return nil, err
	}
	OnStop(cluster.Stop)
	_, err = InstallCRDs(cluster.Config(), OurCRDs())
	return cluster, err
}

// Control planes that the tests of a process share. The first test that needs one starts it, unless Share has done so.
var (
	sharedServer = sync.OnceValues(func() (*rest.Config, error) {
		if kubeconfig := os.Getenv(serverVariable); kubeconfig != "" {
			return localcluster.AttachAPIServer(kubeconfig)
		}
		server, err := startServer(context.Background())
		if err != nil {
			return nil, err
		}
		return server.Config(), nil
	})
	sharedMemory = sync.OnceValues(func() (*rest.Config, error) {
		config, err := inMemory.start()
		if err != nil {
			return nil, err
		}
		_, err = InstallCRDs(config, OurCRDs())
		return config, err
	})
	sharedCluster = sync.OnceValues(func() (*localcluster.Cluster, error) {
		if kubeconfig := os.Getenv(clusterVariable); kubeconfig != "" {
			return localcluster.Attach(kubeconfig)
		}
		return StartCluster(context.Background(), "integration", 5)
	})
)

// StartLog returns the writer for the log of starting control planes: io.Discard, except with go test -v.
func StartLog() io.Writer {
	if testing.Testing() && testing.Verbose() {
		return os.Stderr
	}
	return io.Discard
}

var (
	stopsMu sync.Mutex
	stops   []func(context.Context) error
)

// OnStop makes StopAll call the given function. StopAll calls such functions in reverse order.
func OnStop(stop func(context.Context) error) {
	stopsMu.Lock()
	defer stopsMu.Unlock()
	stops = append(stops, stop)
}

// StopAll calls the functions that were passed to OnStop, and so stops the shared control planes.
func StopAll() {
	stopsMu.Lock()
	defer stopsMu.Unlock()
	for _, stop := range slices.Backward(stops) {
		if err := stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "stopping:", err)
		}
	}
	stops = nil
}

// Server returns a client configuration of an API server without controllers, with our CRDs. The tests of a process share the server.
func Server(t testing.TB) *rest.Config {
	t.Helper()
	shared := sharedServer
	if isInMemory(t) {
		shared = sharedMemory
	}
	config, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return rest.CopyConfig(config)
}

// ServerConfig returns a client configuration of the shared kube-apiserver, which has our CRDs and no controllers, for code outside of tests.
func ServerConfig() (*rest.Config, error) {
	config, err := sharedServer()
	if err != nil {
		return nil, err
	}
	return rest.CopyConfig(config), nil
}

// OncePerServer returns a function that calls prepare with the server of a test, unless prepare has already been called with this server.
func OncePerServer(prepare func(*rest.Config) error) func(testing.TB) {
	var prepared sync.Map // by host
	return func(t testing.TB) {
		t.Helper()
		config := Server(t)
		once, _ := prepared.LoadOrStore(config.Host, sync.OnceValue(func() error { return prepare(config) }))
		if err := once.(func() error)(); err != nil {
			t.Fatal(err)
		}
	}
}

// Cluster returns a whole control plane with simulated nodes and our CRDs.
func Cluster(t testing.TB) *localcluster.Cluster {
	t.Helper()
	c, err := sharedCluster()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
