package localcluster

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

//go:embed stages/*.yaml
var stages embed.FS

// kwokctl runs the program kwokctl, which starts and configures the control plane of one run.
type kwokctl struct {
	run  *run
	name string
}

func (k kwokctl) configFile() string { return filepath.Join(k.run.dir, "kwok.yaml") }
func (k kwokctl) kubeconfig() string { return filepath.Join(k.run.dir, "kubeconfig") }
func (k kwokctl) logDir() string     { return filepath.Join(k.run.dir, "clusters", k.name, "logs") }

// configure writes the configuration file of kwokctl. The file includes the stages, which are the rules by which
// kwok simulates nodes and pods. The file also includes kwok's own node stages, because kwokctl adds its default
// stages only to a file without stages.
func (k kwokctl) configure(apiServerPort int) error {
	ports, err := freePorts(6)
	if err != nil {
		return err
	}
	if apiServerPort != 0 {
		ports[2] = apiServerPort
	}
	b := k.run.binaries()
	config := map[string]any{
		"apiVersion": "config.kwok.x-k8s.io/v1alpha1",
		"kind":       "KwokctlConfiguration",
		"options": map[string]any{
			"runtime": "binary", "bindAddress": loopback, "cacheDir": filepath.Join(k.run.dir, "cache"),
			"etcdBinary": b.Etcd, "kubeApiserverBinary": b.KubeAPIServer, "kubectlBinary": b.Kubectl,
			"kubeControllerManagerBinary": b.KubeControllerManager, "kubeSchedulerBinary": b.KubeScheduler,
			"kwokControllerBinary": b.Kwok,
			"etcdPort":             ports[0], "etcdPeerPort": ports[1], "kubeApiserverPort": ports[2],
			"kubeControllerManagerPort": ports[3], "kubeSchedulerPort": ports[4], "kwokControllerPort": ports[5],
		},
		"componentsPatches": []any{
			// With the default of 20 requests per second for each controller, the removal of the
			// taints of 15 nodes takes seconds.
			// A controller manager or scheduler that cannot renew its lease ends. There is one of each, so none needs a lease.
			withArguments("kube-controller-manager", "kube-api-qps", "200", "kube-api-burst", "400", "leader-elect", "false"),
			withArguments("kube-scheduler", "leader-elect", "false"),
			// The default range has addresses for only 254 Services.
			withArguments("kube-apiserver", "service-cluster-ip-range", "10.96.0.0/16"),
		},
	}
	var out bytes.Buffer
	if err := json.NewEncoder(&out).Encode(config); err != nil { // JSON is YAML
		return fmt.Errorf("configuring kwokctl: %w", err)
	}
	if err := appendStages(&out); err != nil {
		return err
	}
	if err := os.WriteFile(k.configFile(), out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("configuring kwokctl: %w", err)
	}
	return nil
}

// withArguments returns a kwokctl patch that adds arguments to a component. pairs are the names of the arguments,
// each followed by its value.
func withArguments(component string, pairs ...string) map[string]any {
	var args []map[string]string
	for pair := range slices.Chunk(pairs, 2) {
		args = append(args, map[string]string{"key": pair[0], "value": pair[1]})
	}
	return map[string]any{"name": component, "extraArgs": args}
}

func appendStages(out *bytes.Buffer) error {
	entries, err := stages.ReadDir("stages")
	if err != nil {
		return fmt.Errorf("reading the embedded stages for kwok: %w", err)
	}
	for _, entry := range entries {
		content, err := stages.ReadFile("stages/" + entry.Name())
		if err != nil {
			return fmt.Errorf("reading the embedded stages for kwok: %w", err)
		}
		out.WriteString("---\n")
		out.Write(content)
	}
	return nil
}

func (k kwokctl) create(ctx context.Context) error {
	return k.do(ctx, "create", "cluster", "--kubeconfig", k.kubeconfig(), "--timeout", (startTimeout / 2).String()) // so that kwokctl reports which program is not ready
}

// podsOfNode is the maximum number of pods on a node. The default of 110 is too low, because pods of earlier tests
// stay on the node.
const podsOfNode = "10000"

func (k kwokctl) scaleNodes(ctx context.Context, nodes int) error {
	return k.do(ctx, "scale", "node", "--replicas", strconv.Itoa(nodes), "--param", ".allocatable.pods="+podsOfNode)
}

// do runs a kwokctl command. It starts kwokctl through the link in the run folder, because the watchdog finds
// processes by this path.
func (k kwokctl) do(ctx context.Context, args ...string) error {
	last := &lastLines{keep: 12}
	cmd := exec.CommandContext(ctx, k.run.binaries().Kwokctl, append(args, "--name", k.name, "--config", k.configFile())...)
	cmd.Dir = k.run.dir
	cmd.Env = k.environment(os.Environ())
	cmd.Stdout, cmd.Stderr = io.Discard, last
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C does not reach kwokctl; the context ends it
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("%w: kwokctl %s: %w\n%s", ErrStart, strings.Join(args[:2], " "), err, last)
	}
	return nil
}

// environment returns the environment variables for kwokctl: the inherited ones without KUBECONFIG and the KWOK_
// variables of the user. The cluster's kubectl is first in the PATH, because kwokctl uses the first kubectl in the
// PATH, and would download kubectl if there were none.
func (k kwokctl) environment(inherited []string) []string {
	var env []string
	path := []string{k.run.binDir()}
	for _, entry := range inherited {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case name == "PATH":
			path = append(path, value)
		case name != "KUBECONFIG" && !strings.HasPrefix(name, "KWOK_"):
			env = append(env, entry)
		}
	}
	return append(env, "PATH="+strings.Join(path, string(os.PathListSeparator)), "KWOK_WORKDIR="+k.run.dir)
}

// waitReady waits until the API server and the nodes are ready, and a pod can be created in the default namespace. It
// also restarts what has ended: on a busy machine, the controller manager does not wait long enough for the API server.
func (k kwokctl) waitReady(ctx context.Context, config *rest.Config, nodes int) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to the control plane: %w", err)
	}
	var missing error
	for {
		if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
			missing = notReady(ctx, client, nodes)
			return missing == nil, nil
		}); err == nil {
			return nil
		}
		if err := k.do(ctx, "start", "cluster"); ctx.Err() != nil {
			return fmt.Errorf("%w: %w: %w", ErrStart, context.Cause(ctx), missing)
		} else if err != nil {
			return err
		}
	}
}

// notReady returns an error with the reason why the cluster is not ready yet, or nil if it is ready.
func notReady(ctx context.Context, client kubernetes.Interface, nodes int) error {
	if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("the API server is not ready: %w", err)
	}
	// The controller manager creates this account. Without it, the API server rejects every pod.
	switch _, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); {
	case apierrors.IsNotFound(err):
		return errors.New("the controller manager has not created the default service account")
	case err != nil:
		return err
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if ready := countUsable(list.Items); ready < nodes {
		return fmt.Errorf("%d of %d nodes are ready", ready, nodes)
	}
	return nil
}

// countUsable returns the number of nodes that are ready and have no taint, so that pods can be scheduled on them.
func countUsable(nodes []corev1.Node) int {
	usable := 0
	for _, node := range nodes {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
				usable++
			}
		}
	}
	return usable
}

// withLogs returns the given error with the last lines of each log in a folder appended.
func withLogs(err error, dir string) error {
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	var text strings.Builder
	for _, path := range logs {
		content, readErr := os.ReadFile(path)
		if readErr != nil || len(content) == 0 {
			continue
		}
		last := &lastLines{keep: 4}
		_, _ = last.Write(content)
		fmt.Fprintf(&text, "\n--- %s\n%s", filepath.Base(path), last)
	}
	if text.Len() == 0 {
		return err
	}
	return fmt.Errorf("%w\nthe last lines of the logs:%s", err, text.String())
}
