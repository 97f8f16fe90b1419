package neighbours

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// vpaPrograms is the folder of the VPA's programs, which the module in the folder vpa pins, built once for all tests.
var vpaPrograms = kit.Built(func(folder string) error {
	if out, err := exec.Command("go", "build", "-C", "vpa", "-o", folder+"/", "tool").CombinedOutput(); err != nil {
		return fmt.Errorf("building the VPA: %w\n%s", err, out)
	}
	return nil
})

// vpa is what a user writes, and a webhook for one namespace; the VPA registers one for all.
const vpa = `
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: box}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: box}
  updatePolicy: {updateMode: Recreate, minReplicas: 1}
`

const vpaWebhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: vpa-webhook-config}
webhooks:
- name: vpa.k8s.io
  admissionReviewVersions: [v1]
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
  failurePolicy: Fail
  sideEffects: None
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}
  clientConfig: {url: "https://%s", caBundle: %s}
`

// startVPA runs recommender, updater and admission controller for the namespace. The last listens on all interfaces, as it has no
// option for less.
func (w *world) startVPA() {
	w.t.Helper()
	programs, err := vpaPrograms()
	if err != nil {
		w.t.Fatal(err)
	}
	crd, err := exec.Command("go", "list", "-C", "vpa", "-m", "-f", "{{.Dir}}/deploy/vpa-v1-crd-gen.yaml", "k8s.io/autoscaler/vertical-pod-autoscaler").Output()
	if err != nil {
		w.t.Fatal(err)
	}
	w.must(w.kubectlCommand("apply", "--server-side", "-f", strings.TrimSpace(string(crd))))
	w.must(w.kubectlCommand("wait", "--for", "condition=Established", "crd", "verticalpodautoscalers.autoscaling.k8s.io", "--timeout", "60s"))

	folder := w.t.TempDir()
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	crt, private := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	if err := errors.Join(os.WriteFile(crt, certificate, 0o600), os.WriteFile(private, key, 0o600)); err != nil {
		w.t.Fatal(err)
	}
	_, port, _ := strings.Cut(kit.FreeAddress(w.t), ":")
	lease := w.Namespace
	for program, args := range map[string][]string{
		"recommender": {"--recommender-interval=2s"},
		"updater":     {"--updater-interval=2s", "--min-replicas=1", "--admission-controller-status-lease-namespace", lease},
		"admission-controller": {"--register-webhook=false", "--port", port, "--status-lease-namespace", lease,
			"--client-ca-file", crt, "--tls-cert-file", crt, "--tls-private-key", private},
	} {
		w.start(filepath.Join(programs, program), append(args, "--kubeconfig", w.kubeconfig,
			"--vpa-object-namespace", w.Namespace, "--address", kit.FreeAddress(w.t))...)
	}
	webhook := w.kubectlCommand("apply", "-f", "-")
	webhook.Stdin = strings.NewReader(fmt.Sprintf(vpaWebhook, w.Namespace, "localhost:"+port, base64.StdEncoding.EncodeToString(certificate)))
	w.must(webhook)
}

// start runs a program until the end of the test.
func (w *world) start(path string, args ...string) {
	w.t.Helper()
	var log strings.Builder
	program := exec.Command(path, args...)
	program.Stdout, program.Stderr = &log, &log
	if err := program.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait() // it was killed
		if w.t.Failed() {
			w.t.Logf("log of %s:\n%s", path, log.String())
		}
	})
}

// TestVPA has the VPA set what the pods of a Devbox request: it evicts them, and changes those that come. The Deployment stays as
// ours applied it, and a new image comes with what the VPA requests as well.
func TestVPA(t *testing.T) {
	t.Parallel()
	needsAll(t, "the VPA")
	w := newWorld(t, apply.Reject, "Devbox box", "Deployment box")
	w.uses(300)
	w.devbox()
	w.startVPA()
	w.step("kubectl apply -f vpa.yaml", func() {
		w.must(w.kubectlCommand("apply", "-f", w.file("vpa.yaml", vpa)))
		w.requested("registry.example.com/dev:1")
	})
	w.step("kubectl patch devbox, another image", func() {
		w.must(w.kubectlCommand("patch", "devbox", "box", "--type", "merge", "-p", `{"spec":{"image":"registry.example.com/dev:2"}}`))
		w.requested("registry.example.com/dev:2")
	})
	w.finish()
}

// requested waits until the Devbox is ready, and has one pod, of an image, that requests CPU. Nobody owns what a webhook adds to
// an object that is created.
func (w *world) requested(image string) {
	w.t.Helper()
	kit.WaitFor(w.t, "one pod that requests CPU", func() string {
		var pods corev1.PodList
		if err := w.Client.List(w.t.Context(), &pods, client.InNamespace(w.Namespace)); err != nil {
			return err.Error()
		}
		if len(pods.Items) != 1 {
			return fmt.Sprintf("%d pods", len(pods.Items))
		}
		pod := &pods.Items[0]
		container := pod.Spec.Containers[0]
		if container.Image != image || container.Resources.Requests.Cpu().IsZero() {
			return fmt.Sprintf("%s requests %v", container.Image, container.Resources.Requests)
		}
		if fields := fmt.Sprint(kit.FieldsBy(w.t, pod.ManagedFields)); strings.Contains(fields, ".requests") {
			return "somebody owns what the VPA requests: " + fields
		}
		return ""
	})
	w.condition("box", v1alpha1.ConditionReady, true)
}
