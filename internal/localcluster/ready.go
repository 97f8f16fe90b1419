package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// waitReady returns when the API server and the nodes are ready, and a pod can be created in
// the default namespace.
func waitReady(ctx context.Context, config *rest.Config, nodes int) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to the control plane: %w", err)
	}
	var missing error
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		missing = notReady(ctx, client, nodes)
		return missing == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w: %w", ErrStart, context.Cause(ctx), missing)
	}
	return nil
}

// notReady returns what is still missing, or nil.
func notReady(ctx context.Context, client kubernetes.Interface, nodes int) error {
	if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("the API server is not ready: %w", err)
	}
	// The controller manager creates this account, without which every pod is refused.
	_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return errors.New("the controller manager has not created the default service account")
	}
	if err != nil {
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

// countUsable returns the number of nodes that are ready and have no taint, as pods are
// scheduled only there.
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

// withLogs adds the end of each component's log to an error, as the run folder is deleted next,
// with the logs.
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
