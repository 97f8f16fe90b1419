package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"coapply.dev/apply"
	"coapply.dev/compare/workloads/deployment"
	"coapply.dev/fieldowners"
)

// manager is the content of a manager process. Its settings are those of cmd/manager.
type manager struct {
	order

	sent       counter
	reconciles atomic.Int64
}

// manage is the main function of a manager process. It returns the exit code.
func manage(told string) int {
	m := &manager{}
	err := json.Unmarshal([]byte(told), &m.order)
	if err == nil {
		err = m.serve()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the manager process:", err)
		return 1
	}
	return 0
}

func (m *manager) serve() error {
	mgr, err := m.newManager()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return errors.New("the cache was not filled")
	}
	for m.Mode != cacheAlone && m.reconciles.Load() < int64(deployment.Managers*m.Objects) {
		select {
		case <-time.After(10 * time.Millisecond):
		case err := <-ended:
			return fmt.Errorf("the manager ended early: %w", err)
		}
	}
	time.Sleep(settle)
	r := report{StartWrites: m.writes()}
	runtime.GC()
	cpu, start, reconciles := processorTime(), time.Now(), m.reconciles.Load()
	fmt.Println("{}")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	r.CPU, r.Took = processorTime()-cpu, time.Since(start)
	r.Writes, r.Reconciles = m.writes()-r.StartWrites, int(m.reconciles.Load()-reconciles)
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	r.Heap = int64(memory.HeapAlloc)
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return err
	}
	cancel()
	return <-ended
}

func (m *manager) newManager() (ctrl.Manager, error) {
	config := m.sent.counted(&rest.Config{Host: m.Host, TLSClientConfig: m.TLS, BearerToken: m.BearerToken, QPS: -1})
	config.Wrap(apply.RecordExchange)
	var names []string
	for j := range deployment.Managers {
		names = append(names, deployment.Manager(j))
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: clientgoscheme.Scheme,
		Cache: cache.Options{
			ReaderFailOnMissingInformer: true,
			SyncPeriod:                  new(resync),
			DefaultTransform:            fieldowners.KeepOwn(names...),
		},
		Client:     client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
		Controller: ctrlconfig.Controller{ReconciliationTimeout: time.Minute, MaxConcurrentReconciles: 4},
		Metrics:    metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, err
	}
	switch m.Mode {
	case cacheAlone:
		_, err = mgr.GetCache().GetInformer(context.Background(), &appsv1.Deployment{}, cache.BlockUntilSynced(false))
	case byHand:
		err = m.setUpByHand(mgr)
	case applying:
		err = m.setUp(mgr)
	}
	return mgr, err
}

func (m *manager) writes() int { return int(m.sent.writes.Load()) }

// processorTime returns the CPU time of this process on all cores, the time in the kernel included.
func processorTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // cannot fail for this process
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
