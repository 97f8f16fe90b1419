package platform

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// TestDevboxValidation runs against the shared control plane: the API server
// alone stays without our CRDs, as TestManagerRefusesToStart needs it.
func TestDevboxValidation(t *testing.T) {
	c := kit.NewClient(t, kit.Cluster(t).Config())
	namespace := kit.NewNamespace(t, c)
	for i, test := range []struct{ reason, name, spec, want string }{
		{"minimal", "box", `image: a`, ""},
		{"52 characters", strings.Repeat("a", 52), `image: a`, ""},
		{"too long", strings.Repeat("a", 53), `image: a`, "at most 52 characters"},
		{"starts with a digit", "1box", `image: a`, "with a letter first"},
		{"has a dot", "a.box", `image: a`, "lower-case letters, digits and -"},
		{"no image", "box", `state: Running`, "spec.image: Required value"},
		{"empty image", "box", `image: ""`, "spec.image in body should be at least 1 chars long"},
		{"white space in the image", "box", `image: "a b"`, "an image reference must not contain white space"},
		{"tab in the image", "box", `image: "a\tb"`, "an image reference must not contain white space"},
		{"unknown state", "box", `{image: a, state: Paused}`, `supported values: "Running", "Stopped", "Shutdown"`},
		{"empty state", "box", `{image: a, state: ""}`, "spec.state: Unsupported value"},
		{"unknown network type", "box", `{image: a, network: {type: LoadBalancer}}`, `supported values: "ClusterIP", "NodePort", "None"`},
		{"no network", "box", `{image: a, network: {type: None}}`, ""},
		{"port 0", "box", `{image: a, network: {port: 0}}`, "greater than or equal to 1"},
		{"port 1", "box", `{image: a, network: {port: 1}}`, ""},
		{"port 65535", "box", `{image: a, network: {port: 65535}}`, ""},
		{"port 65536", "box", `{image: a, network: {port: 65536}}`, "less than or equal to 65535"},
		{"request below its limit in other units", "box", `{image: a, resources: {requests: {cpu: 500m}, limits: {cpu: 1}}}`, ""},
		{"request equal to its limit", "box", `{image: a, resources: {requests: {memory: 1Gi}, limits: {memory: 1024Mi}}}`, ""},
		{"request above its limit", "box", `{image: a, resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}}`, "a request must not be above its limit"},
		{"no quantity", "box", `{image: a, resources: {requests: {cpu: much}}}`, "spec.resources.requests.cpu in body should match"},
		{"negative request", "box", `{image: a, resources: {requests: {cpu: -1}}}`, "a request must not be negative"},
		{"negative limit", "box", `{image: a, resources: {limits: {cpu: -1m}}}`, "a limit must not be negative"},
		{"unknown field", "box", `{image: a, colour: red}`, `unknown field "spec.colour"`},
	} {
		box := &unstructured.Unstructured{Object: map[string]any{}}
		var spec map[string]any
		if err := yaml.Unmarshal([]byte(test.spec), &spec); err != nil {
			t.Fatal(err)
		}
		box.Object["spec"] = spec
		box.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("Devbox"))
		box.SetNamespace(namespace)
		box.SetName(test.name)
		err := c.Create(t.Context(), box, client.DryRunAll, client.FieldValidation("Strict"))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%d %s: got %v, want %q", i, test.reason, err, test.want)
		}
	}
}

func TestDevboxDefaultsAndStatus(t *testing.T) {
	c := kit.NewClient(t, kit.Cluster(t).Config())
	namespace := kit.NewNamespace(t, c)
	box := &v1alpha1.Devbox{}
	box.Namespace, box.Name, box.Spec.Image = namespace, "box", "a"
	box.Status.Phase = v1alpha1.PhaseRunning
	if err := c.Create(t.Context(), box); err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.DevboxSpec{
		Image: "a", State: v1alpha1.DevboxRunning,
		Network: v1alpha1.DevboxNetwork{Type: v1alpha1.NetworkClusterIP, Port: 22},
	}
	if diff := cmp.Diff(want, box.Spec); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if box.Status.Phase != "" {
		t.Errorf("a write of the spec set the phase to %s", box.Status.Phase)
	}

	for _, manager := range []string{"A", "B"} {
		applied := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
			"conditions": []any{map[string]any{
				"type": manager, "status": "True", "reason": "R", "message": "",
				"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
			}},
		}}}
		applied.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("Devbox"))
		applied.SetNamespace(namespace)
		applied.SetName("box")
		config := client.ApplyConfigurationFromUnstructured(applied)
		if err := c.Status().Apply(t.Context(), config, client.FieldOwner(manager)); err != nil {
			t.Fatal(err)
		}
	}
	generation := box.Generation
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(box), box); err != nil {
		t.Fatal(err)
	}
	if len(box.Status.Conditions) != 2 || box.Generation != generation {
		t.Errorf("generation %d, then %d with conditions %v; want both managers' and the same generation",
			generation, box.Generation, box.Status.Conditions)
	}
}

// TestDevboxColumns asks for the table that kubectl get shows.
func TestDevboxColumns(t *testing.T) {
	config := kit.Cluster(t).Config()
	config.GroupVersion, config.APIPath = &v1alpha1.SchemeGroupVersion, "/apis"
	config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := c.Get().Resource("devboxes").SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	var columns []string
	for _, c := range table.ColumnDefinitions {
		columns = append(columns, c.Name)
	}
	want := []string{"Name", "State", "Phase", "Network", "NodePort", "WorkloadApplied", "PowerApplied", "NetworkApplied", "Image", "Age"}
	if !cmp.Equal(want, columns) {
		t.Errorf("columns are %v, want %v", columns, want)
	}
}
