package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// startTimeout is the time limit for starting a cluster. A start usually takes seconds.
const startTimeout = 4 * time.Minute

// Options describes the cluster to start.
type Options struct {
	// Name becomes part of the names of the run folder and the kubeconfig context. The default is "coapply".
	Name string
	// Nodes is the number of simulated nodes. A cluster without nodes never runs a pod.
	Nodes int
	// APIServerPort is the port of the API server on loopback; 0 means any free port.
	APIServerPort int
	// Log receives one line for each step of the start, and the progress of a build; nil discards both.
	Log io.Writer
}

var nameFormat = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

func (o Options) validated() (Options, error) {
	if o.Name == "" {
		o.Name = "coapply"
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	switch {
	case !nameFormat.MatchString(o.Name):
		return o, fmt.Errorf("the cluster name %q is not valid: use at most 40 lower-case letters, digits and dashes", o.Name)
	case o.Nodes < 0:
		return o, fmt.Errorf("a cluster cannot have %d nodes: use 0 or more", o.Nodes)
	case o.APIServerPort < 0 || o.APIServerPort > 65535:
		return o, fmt.Errorf("the API server port %d is not valid: use 0 for any free port, or 1 to 65535", o.APIServerPort)
	case o.APIServerPort == 0:
		return o, nil
	}
	return o, checkPort(o.APIServerPort)
}

// Cluster is a running control plane with simulated nodes.
type Cluster struct {
	run        *run
	name       string
	kubeconfig string
	config     *rest.Config
	binaries   Binaries
	attached   bool // true if another process has started the cluster, and this process must not stop it
}

// Start builds the control plane if necessary and starts it. It returns when the API server and the
// nodes are ready and pods can be created. A failed start leaves no process and no run folder. The
// context bounds only the start: end the cluster with Stop.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	options, err := options.validated()
	if err != nil {
		return nil, err
	}
	binaries, err := Ensure(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	r, err := newRun(ctx, options.Name, binaries.all(), options.Log)
	if err != nil {
		return nil, err
	}
	c := &Cluster{run: r, name: options.Name, binaries: binaries}
	if err := c.start(ctx, options); err != nil {
		return nil, errors.Join(err, r.end(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, options Options) error {
	k := kwokctl{run: c.run, name: options.Name}
	c.kubeconfig = k.kubeconfig()
	fmt.Fprintln(options.Log, "starting the control plane in", c.run.dir)
	if err := k.configure(options.APIServerPort); err != nil {
		return err
	}
	if err := k.create(ctx); err != nil {
		return withLogs(err, k.logDir())
	}
	var err error
	if c.config, err = AttachAPIServer(c.kubeconfig); err != nil {
		return err
	}
	fmt.Fprintln(options.Log, "adding", options.Nodes, "simulated nodes")
	if err := k.scaleNodes(ctx, options.Nodes); err != nil {
		return withLogs(err, k.logDir())
	}
	if err := k.waitReady(ctx, c.config, options.Nodes); err != nil {
		return withLogs(err, k.logDir())
	}
	fmt.Fprintln(options.Log, "ready:", c.config.Host)
	return nil
}

// Kubeconfig returns the path of the administrator's kubeconfig of the cluster. Stop deletes the file.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// Config returns a copy of the administrator's client configuration, without a client-side rate limit.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Binaries returns the paths of the cluster's binaries, including kubectl.
func (c *Cluster) Binaries() Binaries { return c.binaries }

// Stop ends every process of the cluster, deletes its data, and returns when both are done. If the context ends
// first, Stop returns an error, and the work continues in the background. Stop may be called more than once. For a
// Cluster that Attach returned, Stop does nothing.
func (c *Cluster) Stop(ctx context.Context) error {
	if c.attached {
		return nil
	}
	return c.run.end(ctx)
}

// ActAs writes a kubeconfig for a program that should have only the rights of a service account, and returns the
// path of the kubeconfig. A program that uses the kubeconfig authenticates as the administrator and impersonates the
// service account, so there is no token that could expire.
func (c *Cluster) ActAs(name types.NamespacedName) (kubeconfig string, err error) {
	config, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		return "", fmt.Errorf("writing a kubeconfig for the service account %s: %w", name, err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:" + name.Namespace + ":" + name.Name
	}
	for _, at := range config.Contexts {
		at.Namespace = name.Namespace
	}
	kubeconfig = filepath.Join(c.Dir(), name.Namespace+"-"+name.Name+".kubeconfig")
	return kubeconfig, clientcmd.WriteToFile(*config, kubeconfig)
}

// Dir returns the path of the run folder, which has all files that the cluster writes, such as
// etcd's data. Stop deletes the folder, including files that the caller put there.
func (c *Cluster) Dir() string { return c.run.dir }

// Command returns an exec.Cmd, not started yet, for a program that belongs to the cluster. When the calling process
// ends for any reason, the watchdog (see the package comment) kills both the program and the control plane. When the
// context ends, the program gets SIGTERM. The program has its own process group, so that a Ctrl-C in the terminal
// does not reach it.
func (c *Cluster) Command(ctx context.Context, program string, args ...string) (*exec.Cmd, error) {
	path, err := filepath.Abs(program)
	if err != nil {
		return nil, fmt.Errorf("finding the absolute path of the program %s: %w", program, err)
	}
	if err := checkExecutable([]string{path}, "build the program first"); err != nil {
		return nil, err
	}
	link := filepath.Join(c.run.binDir(), filepath.Base(path))
	if err := os.Symlink(path, link); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("linking %s into the run folder: %w", path, err)
	}
	cmd := exec.CommandContext(ctx, link, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, nil
}

// Attach returns a Cluster for the kubeconfig of a cluster that another process has started, so that
// the tests of several packages share one cluster. Stop of the returned Cluster does nothing.
func Attach(kubeconfig string) (*Cluster, error) {
	dir := filepath.Dir(kubeconfig)
	names, err := os.ReadDir(filepath.Join(dir, "clusters"))
	if err != nil {
		return nil, fmt.Errorf("attaching to the cluster of the kubeconfig %s: %w", kubeconfig, err)
	}
	if len(names) != 1 {
		return nil, fmt.Errorf("attaching to the cluster of the kubeconfig %s: the folder of the kubeconfig has %d clusters, want one cluster", kubeconfig, len(names))
	}
	c := &Cluster{run: &run{dir: dir}, name: names[0].Name(), kubeconfig: kubeconfig, attached: true}
	c.binaries = c.run.binaries()
	c.config, err = AttachAPIServer(kubeconfig)
	return c, err
}

// WriteKubeconfig writes the administrator's kubeconfig to the given file. Other processes can pass the file to
// AttachAPIServer.
func (s *APIServer) WriteKubeconfig(file string) error {
	if err := os.WriteFile(file, s.environment.KubeConfig, 0o600); err != nil {
		return fmt.Errorf("writing the administrator's kubeconfig: %w", err)
	}
	return nil
}

// AttachAPIServer returns the client configuration of a kubeconfig, without a client-side rate limit:
// the API server's priority and fairness limits requests.
func AttachAPIServer(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig %s of the API server: %w", kubeconfig, err)
	}
	config.QPS = -1
	return config, nil
}
