package neighbours

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// helm is the folder of the program, built once for all tests.
var helm = kit.Built(func(folder string) error { return kit.BuildCommands(folder, "helm.sh/helm/v4/cmd/helm") })

func (w *world) helm(args ...string) *exec.Cmd {
	w.t.Helper()
	folder, err := helm()
	if err != nil {
		w.t.Fatal(err)
	}
	return w.command(filepath.Join(folder, "helm"), args...)
}

// needsAll skips a test without ALL=1.
func needsAll(t *testing.T, program string) {
	t.Helper()
	if os.Getenv("ALL") != "1" {
		t.Skip(program + " takes minutes to build the first time: make neighbours ALL=1")
	}
}

// TestHelm has a chart with a Devbox: installed with --wait, upgraded ten times, rolled back, uninstalled.
func TestHelm(t *testing.T) {
	t.Parallel()
	needsAll(t, "Helm")
	w := newWorld(t, apply.Relinquish, "Devbox box", "Deployment box")
	chart := chart(t, "box", `
apiVersion: platform.coapply.dev/v1alpha1
kind: Devbox
metadata:
  name: box
spec:
  image: {{ .Values.image }}
`)
	w.step("helm install box ./box --wait", func() { w.must(w.helm("install", "box", chart, "--wait", "--timeout", "60s")) })
	w.condition("box", v1alpha1.ConditionPowerApplied, true)
	w.step("ten upgrades", func() {
		for i := range 10 {
			image := "registry.example.com/dev:" + strconv.Itoa(2+i)
			w.must(w.helm("upgrade", "box", chart, "--set", "image="+image, "--wait", "--timeout", "60s"))
			w.image(image)
		}
	})
	w.kubectl("label", "devbox", "box", "team=a")
	w.step("helm rollback box", func() { w.must(w.helm("rollback", "box", "--wait", "--timeout", "60s")) })
	w.image("registry.example.com/dev:10")
	w.finish()

	w.must(w.helm("uninstall", "box", "--wait", "--timeout", "60s"))
	kit.WaitFor(t, "all of it is gone", func() string {
		for _, object := range w.watched {
			if left := w.owners(object); left != nil {
				return fmt.Sprintf("%s is left, with %v", object.GetKind(), left)
			}
		}
		return ""
	})
}

// TestHelmBesideOurs has a chart with a Deployment whose replicas a controller of ours sets: ten upgrades that leave them
// alone; one that sets them, which is refused, and forced; and ours, which is refused then.
func TestHelmBesideOurs(t *testing.T) {
	t.Parallel()
	needsAll(t, "Helm")
	w := newWorld(t, apply.Relinquish, "Deployment web")
	chart := chart(t, "web", `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  {{- with .Values.replicas }}
  replicas: {{ . }}
  {{- end }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: {{ .Values.image }}
`)
	w.step("helm install web ./web", func() { w.must(w.helm("install", "web", chart)) })
	w.step("a controller of ours sets the replicas", func() { w.scaled(3) })
	w.step("ten upgrades", func() {
		for i := range 10 {
			w.must(w.helm("upgrade", "web", chart, "--set", "image=registry.example.com/web:"+strconv.Itoa(2+i)))
			w.scaled(3)
		}
	})
	w.step("helm upgrade web ./web --set replicas=5", func() {
		w.refused(w.helm("upgrade", "web", chart, "--set", "replicas=5"), ".spec.replicas", "shop-size")
	})
	w.step("helm upgrade web ./web --set replicas=5 --force-conflicts", func() {
		w.must(w.helm("upgrade", "web", chart, "--set", "replicas=5", "--force-conflicts"))
	})
	var conflict *apply.ConflictError
	if err := w.scaler(3, rejects); !errors.As(err, &conflict) || conflict.Conflicts[0].Manager.Name != "helm" {
		t.Errorf("ours got %v; want a conflict with helm", err)
	}
	w.step("helm rollback web 11", func() { w.must(w.helm("rollback", "web", "11")) }) // the last of the ten
	w.step("a controller of ours sets the replicas again", func() { w.scaled(3) })
	w.finish()
	w.must(w.helm("uninstall", "web"))
}

// TestHelmWaitsForQuota: helm install --wait fails as long as a quota lets no pod be, the condition says why, and an upgrade
// waits with success once there is room.
func TestHelmWaitsForQuota(t *testing.T) {
	t.Parallel()
	needsAll(t, "Helm")
	w := newWorld(t, apply.Reject, "Devbox box")
	w.must(w.kubectlCommand("create", "quota", "none", "--hard", "pods=0"))
	chart := chart(t, "box", devbox)
	w.step("helm install box ./box --wait, without room", func() {
		w.refused(w.helm("install", "box", chart, "--wait", "--timeout", "10s"), "Devbox", "box")
		w.condition("box", v1alpha1.ConditionReady, false, "FailedCreate", "exceeded quota")
	})
	w.must(w.kubectlCommand("delete", "quota", "none"))
	w.step("helm upgrade box ./box --wait, with room", func() { w.must(w.helm("upgrade", "box", chart, "--wait", "--timeout", "120s")) })
	w.condition("box", v1alpha1.ConditionReady, true)
	w.finish()
}

// TestHelmTakesOurs has a chart with labels for the Deployment that we made: Helm does not take it by itself, and then
// conflicts over a label of ours; a chart that is made to take it deletes it when it is uninstalled, and ours makes it again.
func TestHelmTakesOurs(t *testing.T) {
	t.Parallel()
	needsAll(t, "Helm")
	w := newWorld(t, apply.Relinquish, "Deployment box")
	w.devbox()
	chart := chart(t, "labels", `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: box
  labels: {team: a}
`)
	w.step("helm install labels ./labels", func() {
		w.refused(w.helm("install", "labels", chart), "invalid ownership metadata")
	})
	w.step("helm install labels ./labels --take-ownership", func() {
		w.refused(w.helm("install", "labels", chart, "--take-ownership"), `.metadata.labels.app.kubernetes.io/managed-by`, "coapply-devbox-workload")
	})
	w.step("helm upgrade --install labels ./labels --take-ownership --force-conflicts", func() {
		w.must(w.helm("upgrade", "--install", "labels", chart, "--take-ownership", "--force-conflicts"))
		w.condition("box", v1alpha1.ConditionWorkloadApplied, false, "managed-by", "helm")
	})
	was := w.deployment().UID
	w.step("helm uninstall labels", func() {
		w.must(w.helm("uninstall", "labels"))
		w.condition("box", v1alpha1.ConditionWorkloadApplied, true)
		w.condition("box", v1alpha1.ConditionReady, true)
	})
	if w.deployment().UID == was {
		t.Error("the Deployment was not deleted with the release: the page says that it is")
	}
	w.finish()
}
