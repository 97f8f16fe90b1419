package neighbours

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// argocd is the folder of the program in the folder argocd, which is Argo CD's gitops-engine, built once for all tests.
var argocd = kit.Built(func(folder string) error {
	if out, err := exec.Command("go", "build", "-C", "argocd", "-o", folder+"/argocd", ".").CombinedOutput(); err != nil {
		return fmt.Errorf("building argocd: %w\n%s", err, out)
	}
	return nil
})

// argoSync syncs a manifest by Argo CD's gitops-engine, and returns what that found before, "Synced" or "OutOfSync". Without
// ALL=1 it sends what the engine sends, by the kubectl that it calls, and finds nothing.
func (w *world) argoSync(manifest string) (found string) {
	w.t.Helper()
	if os.Getenv("ALL") != "1" {
		w.must(w.kubectlCommand("apply", "--server-side", "--force-conflicts", "--field-manager", "argocd-controller", "-f", w.file("web.yaml", manifest)))
		return ""
	}
	folder, err := argocd()
	if err != nil {
		w.t.Fatal(err)
	}
	command := w.command(filepath.Join(folder, "argocd"), "--sync")
	command.Stdin = strings.NewReader(manifest)
	out, err := command.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v: %v\n%s", command.Args, err, out)
	}
	found, _, _ = strings.Cut(string(out), "\n")
	return found
}

// TestArgoCD has Argo CD sync with ServerSideApply=true. With RespectIgnoreDifferences=true its controller copies what it ignores
// from the live object into what it applies (controller/sync.go), so it owns that as well.
func TestArgoCD(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apply.Force, "Deployment web")
	w.step("first sync", func() {
		if found := w.argoSync(web); found == "Synced" {
			t.Error("what is not there is no difference to Argo CD")
		}
	})
	w.step("a controller of ours sets the replicas", func() { w.scaled(3) })
	w.step("ten syncs", func() {
		for range 10 {
			if found := w.argoSync(web); found == "OutOfSync" {
				t.Error("what ours sets is a difference to Argo CD: with selfHeal it would sync for ever")
			}
			w.scaled(3)
		}
	})

	ignoring := func() { // the manifest does not matter: the live value is put in
		live := w.Get(t, "web", &appsv1.Deployment{}).(*appsv1.Deployment)
		w.argoSync(withReplicas(strconv.Itoa(int(*live.Spec.Replicas))))
	}
	w.step("a sync that ignores the replicas, with RespectIgnoreDifferences", ignoring)
	var conflict *apply.ConflictError
	if err := w.scaler(4, rejects); !errors.As(err, &conflict) || conflict.Conflicts[0].Manager.Name != "argocd-controller" {
		t.Errorf("ours got %v; want a conflict with argocd-controller", err)
	}
	takes := rejects.When(apply.Match{Manager: "argocd-controller"}, apply.Force)
	w.step("a controller of ours that forces what Argo CD owns, and ten such syncs", func() {
		for i := range 10 {
			if err := w.scaler(int32(4+i), takes); err != nil {
				t.Error(err)
			}
			ignoring()
			w.replicasOf("web", int32(4+i))
		}
	})
	w.step("a sync that ignores nothing, of a manifest without replicas", func() { w.argoSync(web) })
	w.step("a controller of ours sets the replicas again", func() { w.scaled(3) })
	w.finish()
}
