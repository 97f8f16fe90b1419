package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/apply/update"
	"coapply.dev/internal/localcluster"
	"coapply.dev/test/kit"
)

const (
	kills      = 10
	halfOfThem = 32 // appliers, and as many updaters
	objects    = 8
)

// TestKilledServers kills etcd, which writes through to the disk, and the API server under 64 writers. Whatever was
// acknowledged is there at the end.
func TestKilledServers(t *testing.T) {
	once(t)
	plane := startPlane(t)
	c := kit.NewClient(t, plane.Config)
	namespace := kit.NewNamespace(t, c)
	set := lanes.New()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var acknowledged atomic.Int64
	writers := make([]*counter, 2*halfOfThem)
	var all sync.WaitGroup
	for i := range writers {
		w := &counter{field: fmt.Sprint("writer-", i), object: fmt.Sprint("object-", i%objects), of: &acknowledged}
		writers[i] = w
		write, err := w.applies(c, namespace, set)
		if i >= halfOfThem {
			write, err = w.updates(c, namespace, set)
		}
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() { w.work(ctx, write) })
	}
	for i := range kills {
		before := acknowledged.Load()
		kit.WaitFor(t, "the writers write", func() string {
			if n := acknowledged.Load() - before; n < 200 {
				return fmt.Sprint(n, " writes")
			}
			return ""
		})
		plane.kill(t, i%2 == 0)
	}
	before := acknowledged.Load()
	kit.WaitFor(t, "the writers write after the last one", func() string {
		if acknowledged.Load() < before+200 {
			return "they do not"
		}
		return ""
	})
	stop()
	all.Wait()
	uncertain := 0
	for _, w := range writers {
		var object corev1.ConfigMap
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: w.object}, &object); err != nil {
			t.Fatal(err)
		}
		live, _ := strconv.Atoi(object.Data[w.field])
		if live < w.acknowledged || live > w.tried {
			t.Errorf("%s is %d, acknowledged was %d, tried %d", w.field, live, w.acknowledged, w.tried)
		}
		uncertain += w.uncertain
		for _, err := range w.wrong {
			t.Errorf("%s: %v", w.field, err)
		}
	}
	count(t, "%d kills under 64 writers, %d writes acknowledged, %d of unknown end", kills, acknowledged.Load(), uncertain)
}

// counter is a writer that counts up in a field of its own.
type counter struct {
	field, object string
	of            *atomic.Int64

	tried, acknowledged, uncertain int
	wrong                          []error // that say of a write that it was refused
}

func (w *counter) work(ctx context.Context, write func(context.Context, string) error) {
	for ctx.Err() == nil {
		w.tried++
		err := write(ctx, strconv.Itoa(w.tried))
		switch {
		case err == nil:
			w.acknowledged = w.tried
			w.of.Add(1)
		case errors.Is(err, apply.ErrRetryable), errors.Is(err, apply.ErrContended), errors.Is(err, apply.ErrStaleWrite), ctx.Err() != nil:
			w.uncertain++
			time.Sleep(20 * time.Millisecond) // as a queue does
		default:
			w.wrong = append(w.wrong, err)
			return
		}
	}
}

func (w *counter) applies(c client.Client, namespace string, set *lanes.Set) (func(context.Context, string) error, error) {
	applier, err := apply.New(c, apply.Config{FieldManager: w.field, LiveReader: c, Lanes: set})
	return func(ctx context.Context, value string) error {
		_, err := applier.Apply(ctx, apply.Intent{Config: corev1ac.ConfigMap(w.object, namespace).WithData(map[string]string{w.field: value})})
		return err
	}, err
}

func (w *counter) updates(c client.Client, namespace string, set *lanes.Set) (func(context.Context, string) error, error) {
	updater, err := update.New(update.Config{Client: c, LiveReader: c, FieldManager: w.field, Lanes: set})
	return func(ctx context.Context, value string) error {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.object}}
		_, err := update.Do(ctx, updater, object, func(object *corev1.ConfigMap) error {
			if object.Data == nil {
				object.Data = map[string]string{}
			}
			object.Data[w.field] = value
			return nil
		})
		if client.IgnoreNotFound(err) == nil && err != nil { // not created yet
			return fmt.Errorf("%w: %w", apply.ErrRetryable, err)
		}
		return err
	}, err
}

// plane is an etcd and an API server that are killed and started again.
type plane struct {
	*envtest.Environment

	folder string
}

func startPlane(t *testing.T) plane {
	t.Helper()
	binaries, err := localcluster.Ensure(t.Context(), kit.StartLog())
	if err != nil {
		t.Fatal(err)
	}
	p := plane{&envtest.Environment{BinaryAssetsDirectory: filepath.Dir(binaries.Etcd)}, t.TempDir()}
	api := p.ControlPlane.GetAPIServer()
	api.Path, api.CertDir = binaries.KubeAPIServer, filepath.Join(p.folder, "certs")
	p.ControlPlane.Etcd = &envtest.Etcd{Path: binaries.Etcd, DataDir: filepath.Join(p.folder, "etcd")}
	p.ControlPlane.Etcd.Configure().Set("unsafe-no-fsync", "false")
	p.ControlPlane.KubectlPath = binaries.Kubectl
	for _, folder := range []string{api.CertDir, p.ControlPlane.Etcd.DataDir} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	config, err := p.Start()
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return p
}

// kill kills one of the two, and starts it again.
func (p plane) kill(t *testing.T, etcd bool) {
	t.Helper()
	what, start := filepath.Join(p.folder, "certs"), p.ControlPlane.APIServer.Start
	if etcd {
		what, start = filepath.Join(p.folder, "etcd"), p.ControlPlane.Etcd.Start
	}
	id := child(t, what)
	if err := syscall.Kill(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	kit.WaitFor(t, "it is dead", func() string {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", id)); err == nil {
			return "it is not"
		}
		return ""
	})
	if err := start(); err != nil {
		t.Fatal(err)
	}
}

// child returns the process of ours whose options name a folder.
func child(t *testing.T, folder string) int {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range commands {
		options, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(options), folder) {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && id != os.Getpid() {
			return id
		}
	}
	t.Fatalf("no process has %s among its options (this test needs Linux's /proc)", folder)
	return 0
}
