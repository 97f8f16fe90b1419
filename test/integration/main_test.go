// Package integration tests what the project claims against a real API server,
// and what concerns pods against a whole control plane.
package integration

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/go-logr/logr"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/examples/website"
	"coapply.dev/internal/localcluster"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	unwatch := context.AfterFunc(ctx, func() { stopAll(); os.Exit(130) })
	code := m.Run()
	unwatch()
	stop()
	stopAll()
	os.Exit(code)
}

// Both are started by the first test that needs them and shared by all.
var (
	sharedServer = sync.OnceValues(func() (*localcluster.APIServer, error) {
		server, err := localcluster.StartAPIServer(context.Background(), startLog())
		if err == nil {
			onStop(server.Stop)
		}
		return server, err
	})
	sharedCluster = sync.OnceValues(func() (*localcluster.Cluster, error) {
		cluster, err := localcluster.Start(context.Background(), localcluster.Options{
			Name: "integration", Nodes: 5, Log: startLog(),
		})
		if err != nil {
			return nil, err
		}
		onStop(cluster.Stop)
		return cluster, installCRDs(cluster.Config())
	})
)

func startLog() io.Writer {
	if testing.Verbose() {
		return os.Stderr
	}
	return io.Discard
}

var (
	stopsMu sync.Mutex
	stops   []func(context.Context) error
)

func onStop(stop func(context.Context) error) {
	stopsMu.Lock()
	defer stopsMu.Unlock()
	stops = append(stops, stop)
}

func stopAll() {
	stopsMu.Lock()
	defer stopsMu.Unlock()
	for _, stop := range slices.Backward(stops) {
		if err := stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "stopping:", err)
		}
	}
	stops = nil
}

func installCRDs(config *rest.Config) error {
	_, err := envtest.InstallCRDs(config, ourCRDs())
	return err
}

func ourCRDs() envtest.CRDInstallOptions {
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "crd", "platform.coapply.dev_*.yaml"))
	if err != nil || len(files) == 0 {
		panic("no CRDs in config/crd")
	}
	return envtest.CRDInstallOptions{Paths: files, ErrorIfPathMissing: true}
}

// server gives a configuration of an API server without controllers.
func server(t testing.TB) *rest.Config {
	t.Helper()
	s, err := sharedServer()
	if err != nil {
		t.Fatal(err)
	}
	return s.Config()
}

// cluster gives a whole control plane with simulated nodes and our CRDs.
func cluster(t testing.TB) *localcluster.Cluster {
	t.Helper()
	c, err := sharedCluster()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, website.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}()

// newClient gives a client without a cache whose exchanges an Applier can read.
func newClient(t testing.TB, config *rest.Config) client.Client {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Wrap(apply.RecordExchange)
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newNamespace gives a namespace of the test's own. It is not deleted: the control
// plane goes as a whole.
func newNamespace(t testing.TB, c client.Client) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

func newApplier(t testing.TB, c client.Client, manager string, policy apply.Policy) *apply.Applier {
	t.Helper()
	applier, err := apply.New(c, apply.Config{FieldManager: manager, Policy: policy, LiveReader: c})
	if err != nil {
		t.Fatal(err)
	}
	return applier
}
