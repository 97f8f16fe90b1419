package update

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"coapply.dev/apply/internal/wire"
)

// The property over random objects of a real server is test/integration's
// TestNarrowProperty; here is one case for each rule.
func TestNarrow(t *testing.T) {
	container := func(p *corev1.Pod, i int) *corev1.Container { return &p.Spec.Containers[i] }
	tests := []struct {
		reason string
		live   string // spec of the pod
		change func(*corev1.Pod)
		want   string
	}{
		{
			reason: "what the Go type spells otherwise, lacks or leaves out stays",
			live:   `{"containers":[{"name":"a","resources":{"limits":{"cpu":"1000m"}},"tty":false,"future":{"x":[1.5]}}],"future":1,"volumes":null}`,
			change: func(p *corev1.Pod) { p.Labels = map[string]string{"ours": "1"} },
			want:   `{"containers":[{"name":"a","resources":{"limits":{"cpu":"1000m"}},"tty":false,"future":{"x":[1.5]}}],"future":1,"volumes":null}`,
		},
		{
			reason: "a changed item keeps what was not changed of it, also where others come and go",
			live:   `{"containers":[{"name":"gone"},{"name":"a","future":1,"resources":{"limits":{"cpu":"1000m"}}},{"name":"b","future":2}]}`,
			change: func(p *corev1.Pod) {
				container(p, 1).Image = "new"
				p.Spec.Containers = []corev1.Container{p.Spec.Containers[2], {Name: "c"}, p.Spec.Containers[1]}
			},
			want: `{"containers":[{"name":"b","future":2},{"name":"c","resources":{}},{"name":"a","image":"new","future":1,"resources":{"limits":{"cpu":"1000m"}}}]}`,
		},
		{
			reason: "ports have two keys",
			live: `{"containers":[{"name":"a","ports":[{"containerPort":53,"protocol":"UDP","future":"u"},
				{"containerPort":53,"protocol":"TCP","future":"t"}]}]}`,
			change: func(p *corev1.Pod) {
				ports := container(p, 0).Ports
				ports[1].HostPort = 1
				container(p, 0).Ports = ports[1:]
			},
			want: `{"containers":[{"name":"a","ports":[{"containerPort":53,"protocol":"TCP","future":"t","hostPort":1}]}]}`,
		},
		{
			reason: "a container inherits nothing from the container that it replaces",
			live:   `{"containers":[{"name":"a","image":"x","imagePullPolicy":"Always","future":{"privileged":true}}]}`,
			change: func(p *corev1.Pod) { container(p, 0).Name = "b" },
			want:   `{"containers":[{"name":"b","image":"x","imagePullPolicy":"Always","resources":{}}]}`,
		},
		{
			reason: "one quantity in another format is the same",
			live:   `{"containers":[{"name":"a","tty":false,"resources":{"limits":{"cpu":"1k","memory":"1"}}}]}`,
			change: func(p *corev1.Pod) {
				container(p, 0).Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1e3"), "memory": resource.MustParse("2")}
			},
			want: `{"containers":[{"name":"a","tty":false,"resources":{"limits":{"cpu":"1k","memory":"2"}}}]}`,
		},
		{
			reason: "the text of a variable is no quantity",
			live:   `{"containers":[{"name":"a","env":[{"name":"N","value":"1k"}]}]}`,
			change: func(p *corev1.Pod) { container(p, 0).Env[0].Value = "1e3" },
			want:   `{"containers":[{"name":"a","env":[{"name":"N","value":"1e3"}]}]}`,
		},
		{
			reason: "a pointer that is nil takes all below it",
			live:   `{"containers":[],"securityContext":{"runAsUser":1,"future":1}}`,
			change: func(p *corev1.Pod) { p.Spec.SecurityContext = nil },
			want:   `{"containers":[]}`,
		},
		{
			reason: "a map goes with its last entry",
			live:   `{"containers":[],"nodeSelector":{"a":"b"}}`,
			change: func(p *corev1.Pod) { delete(p.Spec.NodeSelector, "a") },
			want:   `{"containers":[]}`,
		},
		{
			reason: "set to what the server has by a hidden zero value",
			live:   `{"containers":[],"hostNetwork":false,"tolerations":[]}`,
			change: func(p *corev1.Pod) {
				p.Spec.HostNetwork = true
				p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "k"})
			},
			want: `{"containers":[],"hostNetwork":true,"tolerations":[{"key":"k"}]}`,
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": parsed(t, test.live)}}
			read := live.DeepCopy()
			before, after := &corev1.Pod{}, &corev1.Pod{}
			for _, into := range []client.Object{before, after} {
				if err := decode(live, into); err != nil {
					t.Fatal(err)
				}
			}
			test.change(after)
			wanted, err := narrowing{schema: podSchema(t)}.narrow(live, before, after)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parsed(t, test.want), wanted.Object["spec"]); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if diff := cmp.Diff(read, live); diff != "" {
				t.Errorf("the object read was written to: %s", diff)
			}
		})
	}
}

// podSchema returns the schema of a Pod as client-go has it, which is the API server's.
func podSchema(t testing.TB) func() (*typed.TypedValue, error) {
	t.Helper()
	empty := wire.Named(corev1.SchemeGroupVersion.WithKind("Pod"), types.NamespacedName{})
	pod, err := applyconfigurations.NewTypeConverter(scheme.Scheme).ObjectToTyped(empty)
	if err != nil {
		t.Fatal(err)
	}
	return func() (*typed.TypedValue, error) { return pod, nil }
}

// thing has what the built-in kinds do not: a struct that is left out when it is zero.
type thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Counts struct {
		Ready int `json:"ready"`
		Total int `json:"total"`
	} `json:"counts,omitzero"`
	Sizes struct {
		Least int `json:"least"`
		Most  int `json:"most"`
	} `json:"sizes"`
}

func TestNarrowZeroStruct(t *testing.T) {
	tests := []struct {
		reason, live string
		ready, least int
		want         string
	}{
		{"what the type does not know outlives it", `{"counts":{"ready":1,"total":0,"future":1}}`, 0, 0, `{"counts":{"future":1}}`},
		{"nothing is left of it", `{"counts":{"ready":1,"total":0}}`, 0, 0, `{}`},
		{"one that is new is sent whole: its schema may require all of it", `{}`, 1, 0, `{"counts":{"ready":1,"total":0}}`},
		{"so is one that the type never leaves out", `{}`, 0, 1, `{"sizes":{"least":1,"most":0}}`},
		{"what only the server knows is no reason to lose it", `{"counts":{"future":1}}`, 1, 0, `{"counts":{"ready":1,"total":0,"future":1}}`},
		{"a zero that the server has stays", `{"counts":{"ready":0,"total":0}}`, 0, 0, `{"counts":{"ready":0,"total":0}}`},
	}
	for _, test := range tests {
		live := &unstructured.Unstructured{Object: parsed(t, test.live).(map[string]any)}
		before, after := &thing{}, &thing{}
		for _, into := range []client.Object{before, after} {
			if err := decode(live, into); err != nil {
				t.Fatal(err)
			}
		}
		after.Counts.Ready, after.Sizes.Least = test.ready, test.least
		wanted, err := narrowing{schema: unknownSchema}.narrow(live, before, after)
		if err != nil {
			t.Fatal(err)
		}
		delete(wanted.Object, "metadata")
		if diff := cmp.Diff(parsed(t, test.want), any(wanted.Object)); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.reason, diff)
		}
	}
}

func (t *thing) DeepCopyObject() runtime.Object {
	copied := *t
	return &copied
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := utiljson.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
