package kit

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"coapply.dev/internal/localcluster"
)

// Main runs the tests of a package, and stops at their end what they shared.
func Main(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	unwatch := context.AfterFunc(ctx, func() { StopAll(); os.Exit(130) })
	code := m.Run()
	unwatch()
	stop()
	StopAll()
	os.Exit(code)
}

// Both are started by the first test that needs them and shared by all.
var (
	SharedServer = sync.OnceValues(func() (*localcluster.APIServer, error) {
		server, err := localcluster.StartAPIServer(context.Background(), StartLog())
		if err == nil {
			OnStop(server.Stop)
		}
		return server, err
	})
	sharedCluster = sync.OnceValues(func() (*localcluster.Cluster, error) {
		cluster, err := localcluster.Start(context.Background(), localcluster.Options{
			Name: "integration", Nodes: 5, Log: StartLog(),
		})
		if err != nil {
			return nil, err
		}
		OnStop(cluster.Stop)
		return cluster, InstallCRDs(cluster.Config())
	})
)

func StartLog() io.Writer {
	if testing.Verbose() {
		return os.Stderr
	}
	return io.Discard
}

var (
	stopsMu sync.Mutex
	stops   []func(context.Context) error
)

func OnStop(stop func(context.Context) error) {
	stopsMu.Lock()
	defer stopsMu.Unlock()
	stops = append(stops, stop)
}

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

// Server gives a configuration of an API server without controllers.
func Server(t testing.TB) *rest.Config {
	t.Helper()
	s, err := SharedServer()
	if err != nil {
		t.Fatal(err)
	}
	return s.Config()
}

// Cluster gives a whole control plane with simulated nodes and our CRDs.
func Cluster(t testing.TB) *localcluster.Cluster {
	t.Helper()
	c, err := sharedCluster()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
