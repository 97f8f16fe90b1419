package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"coapply.dev"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// slim is a Deployment whose Go type lacks most fields, as the Go type of a client that is older than the server does.
type slim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec struct {
		Template struct {
			Spec struct {
				Containers []slimContainer `json:"containers,omitempty"`
			} `json:"spec,omitzero"`
		} `json:"template,omitzero"`
	} `json:"spec,omitzero"`
	Status struct {
		Conditions []slimCondition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

type (
	slimContainer struct {
		Name  string    `json:"name"`
		Image string    `json:"image,omitempty"`
		Env   []slimEnv `json:"env,omitempty"`
	}
	slimEnv struct {
		Name  string `json:"name"`
		Value string `json:"value,omitempty"`
	}
	slimCondition struct {
		Type   string `json:"type"`
		Status string `json:"status"`
	}
)

func (s *slim) DeepCopyObject() runtime.Object {
	copied := *s
	copied.ObjectMeta = *s.ObjectMeta.DeepCopy()
	containers := slices.Clone(s.Spec.Template.Spec.Containers)
	for i := range containers {
		containers[i].Env = slices.Clone(containers[i].Env)
	}
	copied.Spec.Template.Spec.Containers = containers
	copied.Status.Conditions = slices.Clone(s.Status.Conditions)
	return &copied
}

const slimLive = `
spec:
  replicas: 0
  selector: {matchLabels: {app: slim}}
  template:
    metadata: {labels: {app: slim}}
    spec:
      containers:
      - name: a
        image: registry.example.com/a:1
        securityContext: {privileged: true}
        resources: {limits: {cpu: 1000m}}
        env:
        - {name: ONE, value: "1"}
        - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
      - {name: b, image: "registry.example.com/b:1", tty: true}
`

const slimStatus = `
status:
  conditions:
  - {type: Odd, status: "True", reason: Odd, message: m, lastUpdateTime: "2024-01-01T00:00:00Z", lastTransitionTime: "2024-01-01T00:00:00Z"}
  - {type: Even, status: "True", reason: Even, message: m, lastUpdateTime: "2024-01-01T00:00:00Z", lastTransitionTime: "2024-01-01T00:00:00Z"}
`

// slims gives the updater of a manager's Runtime, and one that knows no schemas, both for the Go type slim.
func slims(t *testing.T) (byKeys, plain *update.Updater) {
	t.Helper()
	known := runtime.NewScheme()
	known.AddKnownTypeWithName(appsv1.SchemeGroupVersion.WithKind("Deployment"), &slim{})
	metav1.AddToGroupVersion(known, appsv1.SchemeGroupVersion)
	mgr, err := ctrl.NewManager(rest.CopyConfig(kit.Server(t)), ctrl.Options{Scheme: known, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	if byKeys, err = rt.Updater(kit.OurManager); err != nil {
		t.Fatal(err)
	}
	if plain, err = update.New(update.Config{Client: mgr.GetClient(), LiveReader: mgr.GetAPIReader(), FieldManager: kit.OurManager}); err != nil {
		t.Fatal(err)
	}
	return byKeys, plain
}

// newSlim makes the Deployment that slim is a type of, and returns its name.
func newSlim(t *testing.T, c client.Client, namespace, name string) *slim {
	t.Helper()
	for _, text := range []string{slimLive, slimStatus} {
		object := kit.NewUnstructured("apps/v1", "Deployment", client.ObjectKey{Namespace: namespace, Name: name})
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			t.Fatal(err)
		}
		subresource := map[string]string{slimStatus: "status"}[text]
		if err := kit.ApplyTo(t.Context(), c, object, subresource, client.ApplyOptions{FieldManager: "helm"}); err != nil {
			t.Fatal(err)
		}
	}
	return &slim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// TestNarrowItemsOfADeployment: what becomes of fields that the Go type lacks when mutate changes the item that has them,
// or replaces it by another one. An updater that knows no schemas refuses both.
func TestNarrowItemsOfADeployment(t *testing.T) {
	t.Parallel()
	byKeys, plain := slims(t)
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	container := func(s *slim) *slimContainer { return &s.Spec.Template.Spec.Containers[0] }
	for i, test := range []struct {
		reason string
		status bool
		change func(*slim)
		wire   func(raw map[string]any) // the same change, by someone who knows the wire alone
		field  string                   // of the refusal
	}{
		{
			reason: "a changed container keeps its fields",
			change: func(s *slim) { container(s).Image = "registry.example.com/a:2" },
			wire:   func(raw map[string]any) { containerOf(raw, 0)["image"] = "registry.example.com/a:2" },
			field:  ".spec.template.spec.containers[0].",
		},
		{
			reason: "a new container inherits nothing from the container that it replaces",
			change: func(s *slim) { container(s).Name = "new" },
			wire: func(raw map[string]any) {
				env := containerOf(raw, 0)["env"].([]any)
				containersOf(raw)[0] = map[string]any{"name": "new", "image": "registry.example.com/a:1", "env": []any{env[0], map[string]any{"name": "POD"}}}
			},
			field: ".spec.template.spec.containers[0].",
		},
		{
			reason: "a new variable inherits nothing either",
			change: func(s *slim) { container(s).Env[1] = slimEnv{Name: "NEW", Value: "2"} },
			wire: func(raw map[string]any) {
				containerOf(raw, 0)["env"].([]any)[1] = map[string]any{"name": "NEW", "value": "2"}
			},
			field: ".spec.template.spec.containers[0].",
		},
		{
			reason: "containers move, come and go beside one that changes",
			change: func(s *slim) {
				list := s.Spec.Template.Spec.Containers
				list[1].Image = "registry.example.com/b:2"
				s.Spec.Template.Spec.Containers = []slimContainer{list[1], {Name: "c", Image: "registry.example.com/c:1"}}
			},
			wire: func(raw map[string]any) {
				b := containerOf(raw, 1)
				b["image"] = "registry.example.com/b:2"
				containers := []any{b, map[string]any{"name": "c", "image": "registry.example.com/c:1"}}
				below(raw, "spec", "template", "spec")["containers"] = containers
			},
			field: ".spec.template.spec.containers[0].",
		},
		{
			reason: "a changed condition keeps its fields", status: true,
			change: func(s *slim) { s.Status.Conditions[1].Status = "Unknown" },
			wire: func(raw map[string]any) {
				below(raw, "status")["conditions"].([]any)[1].(map[string]any)["status"] = "Unknown"
			},
			field: ".status.conditions[1].lastTransitionTime",
		},
		{
			reason: "a new condition inherits nothing from the condition that it replaces", status: true,
			change: func(s *slim) { s.Status.Conditions[0].Type = "New" },
			wire: func(raw map[string]any) {
				below(raw, "status")["conditions"].([]any)[0] = map[string]any{"type": "New", "status": "True"}
			},
			field: ".status.conditions[0].lastTransitionTime",
		},
	} {
		write := update.Do[*slim]
		if test.status {
			write = update.Status[*slim]
		}
		name := newSlim(t, c, namespace, fmt.Sprint("slim-", i))
		want := kit.LiveAt(t, c, kit.RefTo(appsv1.SchemeGroupVersion.WithKind("Deployment"), namespace, name.Name))
		version := want.GetResourceVersion()
		want.SetManagedFields(nil)
		test.wire(want.Object)
		putOnTheWire(t, c, want, test.status)

		mutate := func(s *slim) error { test.change(s); return nil }
		_, err := write(t.Context(), plain, name, mutate)
		wantUnknownField(t, err, test.field, "*apply.slim")
		live := kit.LiveAt(t, c, kit.RefTo(appsv1.SchemeGroupVersion.WithKind("Deployment"), namespace, name.Name))
		if live.GetResourceVersion() != version {
			t.Errorf("%s: what was refused was written", test.reason)
		}
		kit.WaitFor(t, "the schemas of apps/v1", func() string { // on a busy machine, a request can take more than a second
			_, err = write(t.Context(), byKeys, name, mutate)
			if err != nil && strings.Contains(err.Error(), "the API server has not responded yet") {
				return err.Error()
			}
			return ""
		})
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
		}
		got := kit.LiveAt(t, c, kit.RefTo(appsv1.SchemeGroupVersion.WithKind("Deployment"), namespace, name.Name))
		gotContent, gotOwners := narrowText(got)
		wantContent, wantOwners := narrowText(want)
		if diff := cmp.Diff(wantContent, gotContent) + cmp.Diff(wantOwners, gotOwners); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.reason, diff)
		}
	}
}

func containerOf(raw map[string]any, i int) map[string]any {
	return containersOf(raw)[i].(map[string]any)
}

// putOnTheWire sends an object as a dry run, and leaves the server's answer there.
func putOnTheWire(t *testing.T, c client.Client, object *unstructured.Unstructured, status bool) {
	t.Helper()
	w := &narrowWorld{c: c}
	if err := w.put(t.Context(), object, status); err != nil {
		t.Fatal(err)
	}
}

// wantUnknownField wants the refusal of a write that could drop a field, and its name and remedy in the text.
func wantUnknownField(t *testing.T, err error, field, goType string) {
	t.Helper()
	if !errors.Is(err, update.ErrUnknownField) {
		t.Errorf("%v, want a refusal because of %s", err, field)
		return
	}
	for _, part := range []string{"could drop " + field, goType, "*unstructured.Unstructured"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: there is no %q in it", err, part)
		}
	}
}
