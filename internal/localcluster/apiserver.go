package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// APIServer is a running etcd and kube-apiserver. No controllers run: a deleted namespace is never emptied, no pod is
// scheduled, and no object is garbage collected.
type APIServer struct {
	run         *run
	environment *envtest.Environment
	config      *rest.Config
}

// StartAPIServer builds the binaries if necessary and starts etcd and kube-apiserver. If KUBEBUILDER_ASSETS is
// set, it builds nothing, and uses the binaries in that folder. log receives the progress; nil discards it. A
// failed start leaves no process and no run folder. The context bounds only the start: end the API server with Stop. Each of
// the flags is an additional flag of kube-apiserver, such as audit-log-path=FILE.
func StartAPIServer(ctx context.Context, log io.Writer, flags ...string) (*APIServer, error) {
	if log == nil {
		log = io.Discard
	}
	binaries, err := apiServerBinaries(ctx, log)
	if err != nil {
		return nil, err
	}
	r, err := newRun(ctx, "apiserver", binaries.apiServer(), log)
	if err != nil {
		return nil, err
	}
	s := &APIServer{run: r}
	if err := s.start(ctx, flags); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	fmt.Fprintln(log, "ready:", s.config.Host)
	return s, nil
}

func apiServerBinaries(ctx context.Context, log io.Writer) (Binaries, error) {
	if assets := os.Getenv(assetsVariable); assets != "" {
		return binariesIn(assets), checkAssets(assets)
	}
	return Ensure(ctx, log)
}

// start starts etcd and kube-apiserver with envtest. If the context ends, start kills the processes of the run, so
// that envtest fails at once: the Start method of envtest takes no context.
func (s *APIServer) start(ctx context.Context, flags []string) error {
	stop := context.AfterFunc(ctx, func() { _ = s.run.end(context.WithoutCancel(ctx)) })
	defer stop()
	// envtest starts the programs up to five times. With its default of 20 seconds a busy machine was too slow.
	s.environment = &envtest.Environment{BinaryAssetsDirectory: s.run.binDir(), ControlPlaneStartTimeout: time.Minute}
	b := s.run.binaries()
	plane := &s.environment.ControlPlane
	plane.GetAPIServer().Path, plane.GetAPIServer().CertDir = b.KubeAPIServer, filepath.Join(s.run.dir, "certs")
	for _, flag := range flags {
		name, value, _ := strings.Cut(flag, "=")
		plane.GetAPIServer().Configure().Append(name, value)
	}
	plane.Etcd = &envtest.Etcd{Path: b.Etcd, DataDir: filepath.Join(s.run.dir, "etcd")}
	plane.KubectlPath = b.Kubectl
	logDir := filepath.Join(s.run.dir, "logs")
	for _, dir := range []string{plane.GetAPIServer().CertDir, plane.Etcd.DataDir, logDir} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return fmt.Errorf("preparing the run folder: %w", err)
		}
	}
	for name, output := range map[string]*io.Writer{
		"etcd.log": &plane.Etcd.Err, "kube-apiserver.log": &plane.GetAPIServer().Err,
	} {
		file, err := os.Create(filepath.Join(logDir, name))
		if err != nil {
			return fmt.Errorf("preparing the run folder: %w", err)
		}
		defer file.Close() // the started processes have their own copy of the file descriptor
		*output = file
	}
	config, err := s.environment.Start()
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrStart, context.Cause(ctx))
	}
	if err != nil {
		return withLogs(fmt.Errorf("%w: %w", ErrStart, err), logDir)
	}
	s.config = config
	s.config.QPS = -1
	return nil
}

// Config returns a copy of the administrator's client configuration, without a client-side rate limit.
func (s *APIServer) Config() *rest.Config { return rest.CopyConfig(s.config) }

// Stop kills kube-apiserver and etcd and deletes their data. Stop may be called more than once. The
// API server is not shut down gracefully: that takes seconds, and the data is deleted anyway.
func (s *APIServer) Stop(ctx context.Context) error {
	if err := s.run.end(ctx); err != nil {
		return err
	}
	if s.environment == nil {
		return nil
	}
	return s.environment.Stop()
}
