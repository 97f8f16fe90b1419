package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/internal/localcluster"
	"coapply.dev/platform/api/v1alpha1"
)

const (
	demoNodes = 3
	namespace = "coapply-system" // namespace of the manager
)

// platform is a running control plane with coapply's CRDs and RBAC, and the manager.
type platform struct {
	cluster *localcluster.Cluster
	client  client.Client // has the administrator's rights and no cache
	config  string        // path of the folder config/
	program string        // path of bin/manager
	manager *manager
}

// startPlatform starts the control plane and installs the CRDs and RBAC. It does not start the
// manager. A failed start leaves no process and no run folder.
func startPlatform(ctx context.Context, options localcluster.Options) (*platform, error) {
	config, manager, err := prerequisites()
	if err != nil {
		return nil, err
	}
	cluster, err := localcluster.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	p := &platform{cluster: cluster, config: config, program: manager}
	if err := p.install(ctx); err != nil {
		return nil, errors.Join(err, p.stop(ctx))
	}
	return p, nil
}

// prerequisites returns the paths of the folder config/ and of the program manager. It returns an error if there is no
// checkout, manager or kubectl-fieldowners. It is called before the control plane is built, which takes minutes.
func prerequisites() (config, manager string, err error) {
	checkout, err := localcluster.Checkout()
	if err != nil {
		return "", "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", "", fmt.Errorf("finding the folder that contains the programs platform and manager: %w", err)
	}
	for _, needed := range []string{"manager", "kubectl-fieldowners"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(self), needed)); err != nil {
			return "", "", fmt.Errorf("the program %s must be in the same folder as the program platform: %w; run make build", needed, err)
		}
	}
	return filepath.Join(checkout, "config"), filepath.Join(filepath.Dir(self), "manager"), nil
}

func (p *platform) install(ctx context.Context) error {
	for _, args := range [][]string{
		{"apply", "--server-side", "--kustomize", filepath.Join(p.config, "crd")},
		{"wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"},
		{"apply", "--server-side", "--filename", filepath.Join(p.config, "default", "namespace.yaml")},
		{"apply", "--server-side", "--kustomize", filepath.Join(p.config, "rbac")},
	} {
		if _, err := p.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	config := p.cluster.Config()
	config.Wrap(apply.RecordExchange)
	var err error
	p.client, err = client.New(config, client.Options{Scheme: scheme})
	return err
}

// kubectl runs the control plane's kubectl as the administrator and returns its output.
func (p *platform) kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, p.cluster.Binaries().Kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.cluster.Kubeconfig(),
		"PATH="+filepath.Dir(p.program)+string(os.PathListSeparator)+os.Getenv("PATH")) // so that kubectl finds our plugin
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// stop ends the manager and the control plane, even if the context has ended already.
func (p *platform) stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	return errors.Join(p.stopManager(), p.cluster.Stop(ctx))
}

type runOptions struct {
	port             uint16
	nodes            int
	replicasConflict string
}

// keepRunning runs the command "platform run".
func keepRunning(ctx context.Context, options runOptions, stdout, stderr io.Writer) (err error) {
	switch options.replicasConflict {
	case "Reject", "Force":
	default:
		return usageError{fmt.Errorf("--replicas-conflict %q: use Reject or Force", options.replicasConflict)}
	}
	if options.nodes < 1 {
		return usageError{fmt.Errorf("--nodes %d: pods need at least one node", options.nodes)}
	}
	p, err := startPlatform(ctx, localcluster.Options{
		Name: "run", Nodes: options.nodes, APIServerPort: int(options.port), Log: stderr,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop(ctx)) }()
	if err := p.startManager(ctx, options.replicasConflict); err != nil {
		return err
	}
	if _, err := p.kubectl(ctx, "apply", "--server-side", "--kustomize", filepath.Join(p.config, "samples")); err != nil {
		return err
	}
	kubeconfig, unlink := linkKubeconfig(filepath.Join(filepath.Dir(p.program), "kubeconfig"), p.cluster.Kubeconfig())
	defer unlink()
	fmt.Fprintf(stdout, `The platform runs. In another terminal:

  export KUBECONFIG=%s
  export PATH=%s:$PATH
  alias kubectl=%s
  kubectl get coapply,pods --all-namespaces
  kubectl fieldowners deployment

Logs of the manager: %s
Ctrl-C ends the platform and deletes its data.
`, kubeconfig, filepath.Dir(p.program), p.cluster.Binaries().Kubectl, p.manager.log)
	p.manager.stay(ctx, stderr)
	fmt.Fprintln(stderr, "stopping the platform")
	return nil
}

// linkKubeconfig creates a symbolic link to the cluster's kubeconfig, so that users can use the same path in each
// run. It returns the path of the link, or the path of the kubeconfig if another run uses the link. The function
// unlink removes the link.
func linkKubeconfig(link, own string) (path string, unlink func()) {
	if _, err := os.Stat(link); errors.Is(err, os.ErrNotExist) {
		_ = os.Remove(link) // the link of a run that was killed
		if os.Symlink(own, link) == nil {
			return link, func() { _ = os.Remove(link) }
		}
	}
	return own, func() {}
}
