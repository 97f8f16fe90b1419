package neighbours

import (
	"errors"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"coapply.dev/apply"
)

// TestArgoCD sends what Argo CD sends with ServerSideApply=true: it calls kubectl's apply, forced, as argocd-controller
// (gitops-engine, pkg/utils/kube/resource_ops.go). With RespectIgnoreDifferences=true it copies what it ignores from the live
// object into what it applies (controller/sync.go), so it owns that as well.
func TestArgoCD(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apply.Force)
	w.watch("apps/v1", "Deployment", "web")
	sync := func(manifest string) {
		w.must(w.kubectlCommand("apply", "--server-side", "--force-conflicts", "--field-manager", "argocd-controller", "-f", w.file("web.yaml", manifest)))
	}
	w.step("first sync", func() { sync(web) })
	w.step("a controller of ours sets the replicas", func() { w.scaled(3) })
	w.step("ten syncs", func() {
		for range 10 {
			sync(web)
			w.scaled(3)
		}
	})

	ignoring := func() { // the manifest does not matter: the live value is put in
		live := w.Get(t, "web", &appsv1.Deployment{}).(*appsv1.Deployment)
		sync(withReplicas(strconv.Itoa(int(*live.Spec.Replicas))))
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
	w.step("a sync that ignores nothing, of a manifest without replicas", func() { sync(web) })
	w.step("a controller of ours sets the replicas again", func() { w.scaled(3) })
	w.finish()
}
