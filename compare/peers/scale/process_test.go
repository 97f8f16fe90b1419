package scale

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-logr/logr"
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

// IsProcess reports whether this program was started to be measured.
func IsProcess() bool { return os.Getenv(variable) != "" }

// Process is the manager that is measured; it returns the exit code.
func Process(ctx context.Context, in io.Reader, out, log io.Writer) int {
	if err := serve(ctx, bufio.NewReader(in), json.NewEncoder(out)); err != nil {
		fmt.Fprintln(log, "scale: the process that is measured:", err)
		return 1
	}
	return 0
}

// serve follows the order, says when it is quiet, and what it took until the input ends.
func serve(ctx context.Context, in *bufio.Reader, out *json.Encoder) error {
	var told order
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, &told); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := &manager{order: told, writes: &writes{}}
	start := time.Now()
	ended, err := m.start(ctx)
	if err != nil {
		return err
	}
	if err := m.untilQuiet(ctx, ended); err != nil {
		return err
	}
	result := report{StartTook: time.Since(start), StartWrites: m.writes.count()}
	if err := out.Encode(struct{}{}); err != nil {
		return err
	}
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	if err := m.measure(&result, func() error { _, err := io.Copy(io.Discard, in); return err }); err != nil {
		return err
	}
	if err := out.Encode(result); err != nil {
		return err
	}
	cancel()
	return <-ended
}

// manager is set up as cmd/manager is.
type manager struct {
	order

	writes      *writes
	reconcilers []*reconciler
}

func (m *manager) start(ctx context.Context) (ended chan error, err error) {
	ctrl.SetLogger(logr.Discard())
	config := &rest.Config{Host: m.Host, TLSClientConfig: m.TLS, BearerToken: m.BearerToken, QPS: -1}
	config.Wrap(m.writes.wrap)
	config.Wrap(apply.RecordExchange)
	var names []string
	for j := range deployment.Managers {
		names = append(names, deployment.Manager(j))
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: clientgoscheme.Scheme,
		Cache: cache.Options{
			ReaderFailOnMissingInformer: true,
			SyncPeriod:                  new(Resync),
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
		_, err = mgr.GetCache().GetInformer(ctx, &appsv1.Deployment{}, cache.BlockUntilSynced(false))
	case byHand:
		err = m.setUpByHand(mgr)
	case applying:
		err = m.setUp(mgr)
	}
	if err != nil {
		return nil, err
	}
	ended = make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("the cache was not filled: %w", <-ended)
	}
	return ended, nil
}

// untilQuiet waits until each reconciler has seen each object.
func (m *manager) untilQuiet(ctx context.Context, ended <-chan error) error {
	for _, r := range m.reconcilers {
		select {
		case <-r.all:
		case err := <-ended:
			return fmt.Errorf("it ended early: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
