package neighbours

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"github.com/fluxcd/pkg/ssa/normalize" //nolint:misspell // its name
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
)

// flux applies as kustomize-controller does, with the options that it sets (platform/controllers, at 00ed487).
type flux struct {
	*world
	manager *ssa.ResourceManager
	options ssa.ApplyOptions
}

const ofFlux = "kustomize.toolkit.fluxcd.io"

func newFlux(w *world) *flux {
	f := &flux{world: w, options: ssa.DefaultApplyOptions()}
	poller := polling.NewStatusPoller(w.Client, w.Client.RESTMapper(), polling.Options{})
	f.manager = ssa.NewResourceManager(w.Client, poller, ssa.Owner{Field: "kustomize-controller", Group: ofFlux})
	f.options.ExclusionSelector = map[string]string{ofFlux + "/reconcile": "disabled", ofFlux + "/ssa": "Ignore"}
	f.options.IfNotPresentSelector = map[string]string{ofFlux + "/ssa": "IfNotPresent"}
	f.options.Cleanup = ssa.ApplyCleanupOptions{
		Annotations: []string{corev1.LastAppliedConfigAnnotation},
		FieldManagers: []ssa.FieldManager{ // those whose names begin so
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: "kustomize-controller", OperationType: metav1.ManagedFieldsOperationUpdate},
		},
		Exclusions: map[string]string{ofFlux + "/ssa": "Merge"},
	}
	return f
}

// sync applies manifests, and returns what it did to each, in order: "configured unchanged".
func (f *flux) sync(manifests ...string) string {
	f.t.Helper()
	var objects []*unstructured.Unstructured
	for _, manifest := range manifests {
		objects = append(objects, f.object(manifest))
	}
	if err := normalize.UnstructuredList(objects); err != nil { //nolint:misspell // its name
		f.t.Fatal(err)
	}
	f.manager.SetOwnerLabels(objects, "apps", "flux-system")
	changed, err := f.manager.ApplyAllStaged(f.t.Context(), objects, f.options)
	if err != nil {
		f.t.Fatal(err)
	}
	var actions []string
	for _, entry := range changed.Entries {
		actions = append(actions, string(entry.Action))
	}
	slices.Sort(actions)
	return strings.Join(actions, " ")
}

// tenSyncs change nothing, also while ours sets the replicas between them to what they are.
func (f *flux) tenSyncs(want string, replicas int32, manifests ...string) {
	f.t.Helper()
	for range 10 {
		if did := f.sync(manifests...); did != want {
			f.t.Errorf("a sync of what stands there: %s", did)
		}
		f.scaled(replicas)
	}
}

// web is what a repository has of a Deployment whose replicas are somebody else's.
const web = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example.com/web:1
`

// withReplicas is web as most repositories have it.
func withReplicas(replicas string) string {
	return strings.Replace(web, "spec:\n", "spec:\n  replicas: "+replicas+"\n", 1)
}

// TestFlux syncs a Devbox and a Deployment whose replicas ours sets, and that the manifest leaves out. What a person does
// with kubectl the next sync undoes.
func TestFlux(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apply.Force, "Devbox box", "Deployment web")
	f := newFlux(w)
	w.step("first sync", func() {
		f.sync(devbox, web)
		w.condition("box", v1alpha1.ConditionReady, true)
	})
	w.step("a controller of ours sets the replicas", func() { w.scaled(3) })
	w.step("ten syncs", func() { f.tenSyncs("unchanged unchanged", 3, devbox, web) })
	w.kubectl("label", "devbox", "box", "team=a")
	w.kubectl("set", "image", "deployment/web", "web=registry.example.com/web:2")
	w.step("a sync", func() { f.sync(devbox, web) }) // takes its image back, and the label away
	w.finish()
}

// TestFluxMerges: with the annotation ssa: Merge what a person adds with kubectl stays.
func TestFluxMerges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apply.Force, "Devbox box")
	f := newFlux(w)
	merged := strings.Replace(devbox, "  name: box\n", "  name: box\n  annotations: {"+ofFlux+"/ssa: Merge}\n", 1)
	w.step("first sync", func() {
		f.sync(merged)
		w.condition("box", v1alpha1.ConditionReady, true)
	})
	w.kubectl("label", "devbox", "box", "team=a")
	w.step("a sync", func() {
		if did := f.sync(merged); did != "unchanged" {
			t.Errorf("it %s", did)
		}
	})
	w.finish()
}

// TestFluxIgnores: a manifest with replicas leaves them to ours, once ours has taken them, if the Kustomization ignores
// them; without that it takes them back.
func TestFluxIgnores(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apply.Force, "Deployment web")
	f := newFlux(w)
	takes := apply.OnConflict(apply.Reject).When(apply.Match{Manager: "kustomize-controller"}, apply.Force)
	manifest := withReplicas("1")

	f.options.DriftIgnoreRules = []jsondiff.IgnoreRule{{Paths: []string{"/spec/replicas"}}}
	w.step("first sync, with spec.ignore", func() { f.sync(manifest) })
	w.step("a controller of ours forces the replicas", func() {
		if err := w.scaler(3, takes); err != nil {
			t.Error(err)
		}
	})
	w.step("ten syncs", func() { f.tenSyncs("unchanged", 3, manifest) })
	w.step("a sync of another image", func() {
		f.sync(strings.Replace(manifest, "web:1", "web:2", 1))
		w.scaled(4)
	})

	f.options.DriftIgnoreRules = nil
	w.step("a sync without spec.ignore", func() { f.sync(manifest) })
	var conflict *apply.ConflictError
	if err := w.scaler(3, rejects); !errors.As(err, &conflict) || conflict.Conflicts[0].Manager.Name != "kustomize-controller" {
		t.Errorf("ours got %v; want a conflict with kustomize-controller", err)
	}
	w.finish()
}

// TestFluxWaitsForQuota: Flux's health check of a Devbox ends without success as long as a quota lets no pod be, and says that
// it is in progress: it would be ready by itself once there is room, and is. The condition says why.
func TestFluxWaitsForQuota(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apply.Reject, "Devbox box")
	f := newFlux(w)
	w.must(w.kubectlCommand("create", "quota", "none", "--hard", "pods=0"))
	healthy := func(timeout time.Duration) error { // spec.wait; kustomize-controller looks every 5 s
		return f.manager.Wait([]*unstructured.Unstructured{f.object(devbox)}, ssa.WaitOptions{Interval: time.Second, Timeout: timeout, FailFast: true})
	}
	w.step("a sync that waits, without room", func() {
		f.sync(devbox)
		w.condition("box", v1alpha1.ConditionReady, false, "FailedCreate", "exceeded quota")
		if err := healthy(5 * time.Second); err == nil || !strings.Contains(err.Error(), "Devbox/"+w.Namespace+"/box status: 'InProgress'") {
			t.Errorf("the health check got %v", err)
		}
	})
	w.step("there is room", func() {
		w.must(w.kubectlCommand("delete", "quota", "none"))
		if err := healthy(2 * time.Minute); err != nil {
			t.Error(err)
		}
	})
	w.condition("box", v1alpha1.ConditionReady, true)
	w.finish()
}

// object parses a manifest, in the namespace of the world.
func (w *world) object(manifest string) *unstructured.Unstructured {
	w.t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		w.t.Fatal(err)
	}
	object.SetNamespace(w.Namespace)
	return object
}
