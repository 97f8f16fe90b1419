package plugin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/cmd/kubectl-fieldowners/lint"
	"coapply.dev/test/kit"
)

// lintWorld makes objects the way they come about.
type lintWorld struct {
	*testing.T
	client    client.Client
	namespace string
}

func (w lintWorld) ref(name string) apply.ObjectRef {
	return kit.RefTo(corev1.SchemeGroupVersion.WithKind("ConfigMap"), w.namespace, name)
}

func (w lintWorld) configMap(name string, data map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": w.namespace}, "data": data,
	}}
}

func (w lintWorld) create(name, manager string, data map[string]any) *unstructured.Unstructured {
	w.Helper()
	object := w.configMap(name, data)
	if err := w.client.Create(w.Context(), object, client.FieldOwner(manager)); err != nil {
		w.Fatal(err)
	}
	return object
}

func (w lintWorld) apply(name, manager string, data map[string]any) {
	w.Helper()
	if err := w.client.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(w.configMap(name, data)), client.FieldOwner(manager)); err != nil {
		w.Fatal(err)
	}
}

func (w lintWorld) patch(object client.Object, patch, manager string) {
	w.Helper()
	if err := w.client.Patch(w.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(manager)); err != nil {
		w.Fatal(err)
	}
}

// applied has a manager apply a Deployment of two replicas.
func (w lintWorld) applied(name, manager string) *appsv1.Deployment {
	w.Helper()
	config := kit.Deployment(name, w.namespace, "v1").WithAnnotations(map[string]string{"fill": filler})
	config.Spec.WithReplicas(2)
	if err := w.client.Apply(w.Context(), config, client.FieldOwner(manager)); err != nil {
		w.Fatal(err)
	}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace}}
}

// lint gives the findings about the live object, "RULE MANAGER REMEDY".
func (w lintWorld) lint(ref apply.ObjectRef) (lines []string) {
	w.Helper()
	live := kit.LiveAt(w, w.client, ref)
	encoded, err := json.Marshal(live)
	if err != nil {
		w.Fatal(err)
	}
	findings, err := lint.Check(live.GetManagedFields(), lint.Facts{Served: servedBy(w.T), ObjectBytes: len(encoded)})
	if err != nil {
		w.Fatal(err)
	}
	for _, f := range findings {
		if strings.Contains(f.String(), "\n") {
			w.Errorf("several lines: %q", f)
		}
		lines = append(lines, fmt.Sprintf("%s %s %d: %s", f.Rule, f.Managers[0], f.Fields, f.Remedy))
	}
	return lines
}

// servedBy asks the API server.
func servedBy(t *testing.T) func(string) (served, known bool) {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(kit.Server(t))
	if err != nil {
		t.Fatal(err)
	}
	groups, err := d.ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	versions := metav1.ExtractGroupVersions(groups)
	return func(apiVersion string) (served, known bool) { return slices.Contains(versions, apiVersion), true }
}

// filler makes the values of an object larger than its managed fields.
var filler = strings.Repeat("x", 4096)

// TestLintFinds makes an object for each rule, has Lint find it and nothing else,
// does what the remedy says, by the library, and has Lint find nothing any more.
func TestLintFinds(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	w := lintWorld{t, c, kit.NewNamespace(t, c)}
	migrate := func(from, to string) func(apply.ObjectRef) {
		return func(ref apply.ObjectRef) {
			transfer, err := ownership.Migrate(t.Context(), kit.NewApplier(t, c, to, apply.Policy{}), ref, ownership.From{Manager: from})
			kit.Transferred(t, transfer, err)
		}
	}
	merge := func(from, to string) func(apply.ObjectRef) {
		return func(ref apply.ObjectRef) {
			transfer, err := ownership.Rename(t.Context(), kit.NewApplier(t, c, to, apply.Policy{}), ref, ownership.From{Manager: from})
			kit.Transferred(t, transfer, err)
		}
	}
	for name, s := range map[string]struct {
		make func(name string) apply.ObjectRef
		want string
		heal func(apply.ObjectRef)
	}{
		"before-first-apply": {
			func(name string) apply.ObjectRef {
				object := w.create(name, "old", map[string]any{"k": "1", "fill": filler})
				w.patch(object, `{"metadata":{"managedFields":[{}]}}`, "wipe")
				w.apply(name, "us", map[string]any{"k": "1", "new": "2"})
				return w.ref(name)
			},
			"before-first-apply before-first-apply/Update 1: kubectl fieldowners migrate TYPE/NAME --from before-first-apply --to us",
			migrate("before-first-apply", "us"),
		},
		"client-side-apply": {
			func(name string) apply.ObjectRef {
				kit.CreateClientSide(t, c, kit.Deployment(name, w.namespace, "v1").WithAnnotations(map[string]string{"fill": filler}), &appsv1.Deployment{})
				if err := c.Apply(t.Context(), kit.Deployment(name, w.namespace, "v1"), client.FieldOwner("us")); err != nil {
					t.Fatal(err)
				}
				return kit.DeploymentRef(w.namespace, name)
			},
			"client-side-apply kubectl-client-side-apply/Update 5: kubectl fieldowners migrate TYPE/NAME --from kubectl-client-side-apply --to us",
			migrate(kit.ClientSide, "us"),
		},
		"update-and-apply": {
			func(name string) apply.ObjectRef {
				w.create(name, "us", map[string]any{"k": "1", "fill": filler})
				w.apply(name, "us", map[string]any{"k": "1"})
				return w.ref(name)
			},
			"update-and-apply us/Update 2: kubectl fieldowners migrate TYPE/NAME --from us --to us",
			migrate("us", "us"),
		},
		"wide-update": {
			func(name string) apply.ObjectRef {
				w.apply(name, "us", map[string]any{"k": "1", "fill": filler})
				w.patch(kit.LiveAt(t, c, w.ref(name)), `{"metadata":{"finalizers":["example.com/x"]},"data":{"k":"1.0"}}`, "operator")
				return w.ref(name)
			},
			"wide-update operator/Update 1: kubectl fieldowners migrate TYPE/NAME --from operator --to us --path .data",
			func(ref apply.ObjectRef) {
				from := ownership.From{Manager: "operator", Paths: []string{".data"}}
				transfer, err := ownership.Migrate(t.Context(), kit.NewApplier(t, c, "us", apply.Policy{}), ref, from)
				kit.Transferred(t, transfer, err)
			},
		},
		"ancient-changes": {
			func(name string) apply.ObjectRef {
				object := w.create(name, "m0", map[string]any{"fill": filler})
				for i := range 12 {
					w.patch(object, fmt.Sprintf(`{"data":{"k%d":"v"}}`, i), fmt.Sprintf("m%d", i+1))
				}
				return w.ref(name)
			},
			"ancient-changes ancient-changes/Update 4: kubectl fieldowners migrate TYPE/NAME --from ancient-changes --to MANAGER",
			migrate("ancient-changes", "us"),
		},
		"many-managers": {
			func(name string) apply.ObjectRef {
				for i := range 16 {
					w.apply(name, fmt.Sprintf("m%02d", i), map[string]any{fmt.Sprintf("k%d", i): filler})
				}
				return w.ref(name)
			},
			"many-managers m01/Apply 0: kubectl fieldowners migrate TYPE/NAME --from MANAGER --to m00 --operation Apply",
			merge("m01", "m00"),
		},
		"large-managed-fields": {
			func(name string) apply.ObjectRef {
				for i := range 6 {
					w.apply(name, fmt.Sprintf("m%d", i), map[string]any{"k": "v"})
				}
				return w.ref(name)
			},
			"large-managed-fields m0/Apply 0: kubectl fieldowners get TYPE/NAME",
			func(ref apply.ObjectRef) {
				for i := range 5 {
					merge(fmt.Sprintf("m%d", i), "m5")(ref)
				}
			},
		},
		"duplicate-entry": {
			func(name string) apply.ObjectRef {
				var object appsv1.Deployment
				config := kit.Deployment(name, w.namespace, "v1").WithAnnotations(map[string]string{"fill": filler})
				config.Spec.WithReplicas(2)
				kit.CreateClientSide(t, c, config, &object)
				label := appsv1ac.Deployment(name, w.namespace).WithLabels(map[string]string{"y": "1"})
				if err := c.Apply(t.Context(), label, client.FieldOwner("labels")); err != nil {
					t.Fatal(err)
				}
				kit.ScaleTo(t, c, &object, "2", "nobody")
				return kit.DeploymentRef(w.namespace, name)
			},
			"duplicate-entry kubectl-client-side-apply/Update 0: kubectl fieldowners migrate TYPE/NAME --from kubectl-client-side-apply --to labels",
			migrate(kit.ClientSide, "labels"),
		},
		"self-conflict-applied": {
			func(name string) apply.ObjectRef {
				w.applied(name, "us")
				scaled := &client.SubResourceApplyOptions{SubResourceBody: autoscalingv1ac.Scale().WithName(name).WithNamespace(w.namespace).
					WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(3))}
				config := appsv1ac.Deployment(name, w.namespace)
				if err := c.SubResource("scale").Apply(t.Context(), config, scaled, client.FieldOwner("us"), client.ForceOwnership); err != nil {
					t.Fatal(err)
				}
				return kit.DeploymentRef(w.namespace, name)
			},
			"self-conflict us/Apply[scale] 1: kubectl fieldowners migrate TYPE/NAME --from us --to us --operation Apply",
			merge("us", "us"),
		},
		"self-conflict-updated": {
			func(name string) apply.ObjectRef {
				kit.ScaleTo(t, c, w.applied(name, "kubectl"), "3", "kubectl")
				return kit.DeploymentRef(w.namespace, name)
			},
			"self-conflict kubectl/Update[scale] 1: kubectl fieldowners migrate TYPE/NAME --from kubectl --to kubectl",
			migrate("kubectl", "kubectl"),
		},
	} {
		ref := s.make(name)
		if diff := cmp.Diff([]string{s.want}, w.lint(ref)); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%v", name, diff, kit.FieldsBy(t, kit.LiveAt(t, c, ref).GetManagedFields()))
		}
		s.heal(ref)
		if left := w.lint(ref); len(left) > 0 {
			t.Errorf("%s: after its remedy: %q", name, left)
		}
	}
}
