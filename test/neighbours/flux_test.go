package neighbours

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/ssa"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
)

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

// TestFlux syncs a Devbox and a Deployment that we scale, ten times, as Flux's kustomize-controller does.
func TestFlux(t *testing.T) {
	t.Parallel()
	w := newWorld(t, apply.Force)
	w.watch("platform.coapply.dev/v1alpha1", "Devbox", "box")
	w.watch("apps/v1", "Deployment", "web")
	flux := ssa.NewResourceManager(w.Client, nil, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	sync := func() (actions []string) {
		objects := []*unstructured.Unstructured{w.object(devbox), w.object(web)}
		flux.SetOwnerLabels(objects, "apps", "flux-system")
		changed, err := flux.ApplyAll(t.Context(), objects, ssa.DefaultApplyOptions())
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range changed.Entries {
			actions = append(actions, string(entry.Action))
		}
		return actions
	}
	w.step("first sync", func() { sync() })
	w.condition("box", v1alpha1.ConditionPowerApplied, true)
	w.step("a controller of ours sets the replicas", func() { w.scaled(3) })
	for range 10 {
		if actions := strings.Join(sync(), " "); actions != "unchanged unchanged" {
			t.Errorf("a sync of what stands there: %s", actions)
		}
		w.scaled(3)
	}
	w.step("ten syncs", func() {})
	w.kubectl("label", "devbox", "box", "team=a")
	w.kubectl("set", "image", "deployment/web", "web=registry.example.com/web:2")
	w.step("a sync", func() { sync() }) // takes its image back
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
