package localcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"coapply.dev/internal/localcluster"
	"coapply.dev/test/kit"
)

// localclusterHelper is set in the processes that the tests below start only to see them die.
const localclusterHelper = "COAPPLY_LOCALCLUSTER_HELPER"

func startCluster(t *testing.T, options localcluster.Options) (*localcluster.Cluster, kubernetes.Interface) {
	t.Helper()
	options.Log = t.Output()
	cluster, err := localcluster.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	return cluster, client
}

func runFolder(cluster *localcluster.Cluster) string { return filepath.Dir(cluster.Kubeconfig()) }

// processesOf are those whose command line names the folder, found without any help of the package under test.
func processesOf(t *testing.T, folder string) (found []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) == 0 {
		t.Skip("needs /proc")
	}
	for _, path := range lines {
		content, err := os.ReadFile(path)
		if err == nil && bytes.Contains(content, []byte(folder)) {
			found = append(found, filepath.Dir(path)+" "+string(bytes.ReplaceAll(content, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// sharedCluster returns a client of the cluster that tests share, and a namespace of the test's own in it.
func sharedCluster(t *testing.T) (client kubernetes.Interface, namespace string) {
	t.Helper()
	config := kit.Cluster(t).Config()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client, kit.NewNamespace(t, kit.NewClient(t, config))
}

func TestLocalClusterRunsAndDeletesADeployment(t *testing.T) {
	t.Parallel()
	client, namespace := sharedCluster(t)
	ctx := t.Context()
	deployments := client.AppsV1().Deployments(namespace)
	if _, err := deployments.Create(ctx, kit.WebDeployment(3), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, "3 pods run", func() error {
		return wantPods(ctx, client, namespace, 3, corev1.PodRunning)
	})
	kit.Eventually(t, "the deployment counts them", func() error {
		got, err := deployments.Get(ctx, "web", metav1.GetOptions{})
		if err == nil && got.Status.ReadyReplicas != 3 {
			err = fmt.Errorf("%d ready replicas", got.Status.ReadyReplicas)
		}
		return err
	})
	foreground := metav1.DeletePropagationForeground
	if err := deployments.Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, "pods and deployment go", func() error {
		if _, err := deployments.Get(ctx, "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the deployment is still there: %w", err)
		}
		return wantPods(ctx, client, namespace, 0, "")
	})
}

func wantPods(ctx context.Context, client kubernetes.Interface, namespace string, count int, phase corev1.PodPhase) error {
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	matching := 0
	for _, pod := range pods.Items {
		if pod.Status.Phase == phase {
			matching++
		}
	}
	if len(pods.Items) != count || matching != count {
		return fmt.Errorf("%d pods, %d of them %s", len(pods.Items), matching, phase)
	}
	return nil
}

func TestLocalClusterPodWithFinalizer(t *testing.T) {
	t.Parallel()
	client, namespace := sharedCluster(t)
	for _, test := range []struct {
		reason string
		grace  int64
	}{
		{"graceful-deletion", 30},
		{"shortest-graceful-deletion", 1},
		{"forced-deletion", 0},
	} {
		t.Run(test.reason, func(t *testing.T) { podIsHeldUntilReleased(t, client, namespace, test.reason, test.grace) })
	}
}

func podIsHeldUntilReleased(t *testing.T, client kubernetes.Interface, namespace, name string, grace int64) {
	ctx, pods := t.Context(), client.CoreV1().Pods(namespace)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{"coapply.dev/held"}}, Spec: kit.OnePodSpec(),
	}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, "the pod runs", func() error { return wantPods(ctx, client, namespace, 1, corev1.PodRunning) })
	if err := pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &grace}); err != nil {
		t.Fatal(err)
	}
	var held *corev1.Pod
	kit.Eventually(t, "its containers end and the kubelet lets go", func() (err error) {
		held, err = pods.Get(ctx, name, metav1.GetOptions{})
		if err == nil && (*held.DeletionGracePeriodSeconds != 0 || held.Status.Phase != corev1.PodSucceeded) {
			err = fmt.Errorf("grace period %d, phase %s", *held.DeletionGracePeriodSeconds, held.Status.Phase)
		}
		return err
	})
	if len(held.Finalizers) != 1 || len(held.Status.ContainerStatuses) != 2 {
		t.Errorf("finalizers %v, %d containers; want the finalizer and both containers",
			held.Finalizers, len(held.Status.ContainerStatuses))
	}
	for _, container := range held.Status.ContainerStatuses {
		ended := container.State.Terminated
		if ended == nil || ended.ExitCode != 0 || ended.Reason != "Completed" ||
			ended.StartedAt.IsZero() || ended.FinishedAt.IsZero() || container.Ready {
			t.Errorf("container %s: %+v, ready %v; want it completed", container.Name, container.State, container.Ready)
		}
	}
	wantLeftInPeace(t, client, held)
	release := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := pods.Patch(ctx, name, types.MergePatchType, release, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, "the pod goes", func() error { return wantPods(ctx, client, namespace, 0, "") })
}

// wantLeftInPeace asks for no write to a held pod. A pod that comes after it has run through every stage by the end, so
// a stage that matched the held one again and again would have shown by then.
func wantLeftInPeace(t *testing.T, client kubernetes.Interface, held *corev1.Pod) {
	t.Helper()
	ctx, pods := t.Context(), client.CoreV1().Pods(held.Namespace)
	later := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: held.Name + "-later"}, Spec: kit.OnePodSpec()}
	if _, err := pods.Create(ctx, later, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, "a later pod runs", func() error {
		got, err := pods.Get(ctx, later.Name, metav1.GetOptions{})
		if err == nil && got.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("phase %s", got.Status.Phase)
		}
		return err
	})
	if err := pods.Delete(ctx, later.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, "the later pod goes", func() error { return wantPods(ctx, client, held.Namespace, 1, corev1.PodSucceeded) })
	got, err := pods.Get(ctx, held.Name, metav1.GetOptions{})
	if err != nil || got.ResourceVersion != held.ResourceVersion {
		t.Errorf("the held pod was written to: %v, resourceVersion %s, was %s", err, got.ResourceVersion, held.ResourceVersion)
	}
}

func TestLocalClusterServerOfItsOwn(t *testing.T) {
	kit.ForSoak(t)
	server, err := localcluster.StartAPIServer(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := server.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// withoutIDs takes from a stage what ours has beside kwok's: the IDs of containers.
var withoutIDs = strings.NewReplacer(
	"# kwok's own, but for the container IDs: a kubelet tells containers apart by them.\n", "",
	"      {{ $uid := .metadata.uid }}\n", "",
	"      - containerID: {{ printf \"kwok://%s/%s\" $uid .name | Quote }}\n        image:", "      - image:",
)

// TestNodeStagesAreKwoksOwn keeps the copies in step with the pinned kwok.
func TestNodeStagesAreKwoksOwn(t *testing.T) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
	list.Dir = kit.File("tools", "cluster")
	out, err := list.Output()
	if err != nil {
		t.Skip("kwok's source is not at hand:", err)
	}
	stages := filepath.Join(strings.TrimSpace(string(out)), "kustomize", "stage")
	for ours, theirs := range map[string]string{
		"node-initialize.yaml":           "node/fast",
		"node-heartbeat-with-lease.yaml": "node/heartbeat-with-lease",
		"pod-ready.yaml":                 "pod/fast",
		"pod-complete.yaml":              "pod/fast",
	} {
		want, err := os.ReadFile(filepath.Join(stages, filepath.FromSlash(theirs), ours))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(kit.File("internal", "localcluster", "stages", ours))
		if err != nil || withoutIDs.Replace(string(got)) != string(want) {
			t.Errorf("%s differs from kwok's: copy it again (%v)", ours, err)
		}
	}
}
