package applytest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/fieldowners/contract"
)

var deploymentKind = schema.GroupKind{Group: "apps", Kind: "Deployment"}

// fromYAML emits the Deployment that a text is.
func fromYAML(text string) ([]apply.Intent, error) {
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		return nil, err
	}
	object["apiVersion"], object["kind"] = "apps/v1", "Deployment"
	return []apply.Intent{{Config: client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: object})}}, nil
}

func claims(paths ...string) contract.Contract {
	return contract.Contract{{Manager: "web", Kind: deploymentKind, Applies: paths}}
}

func TestOwns(t *testing.T) {
	const emits, unused = "web emits ", "web claims "
	for _, test := range []struct {
		reason  string
		claims  contract.Contract
		parents []string
		want    []string // how each failure begins
	}{
		{"fields", claims(".spec.replicas", ".metadata.labels"),
			[]string{"{metadata: {name: x, namespace: y, uid: z, labels: {a: b, c.d/e: f}}, spec: {replicas: 3}}"}, nil},
		{"what one parent shows and another one", claims(".spec.replicas", ".spec.paused"),
			[]string{"spec: {replicas: 3}", "spec: {paused: true}"}, nil},
		{"not claimed", claims(".spec.replicas"), []string{"spec: {replicas: 3, paused: true}", "spec: {paused: true}"},
			[]string{emits + ".spec.paused of Deployment.apps"}},
		{"not emitted", claims(".spec.replicas", ".spec.paused"), []string{"spec: {replicas: 3}"},
			[]string{unused + ".spec.paused of Deployment.apps"}},
		{"an empty map is owned", claims(".spec.replicas"), []string{"spec: {replicas: 3, strategy: {}}"},
			[]string{emits + ".spec.strategy of"}},
		{"another kind", contract.Contract{{Manager: "web", Kind: schema.GroupKind{Kind: "Pod"}, Applies: []string{".spec"}}}, []string{"spec: {replicas: 3}"},
			[]string{emits + ".spec.replicas of Deployment.apps", unused + ".spec of Pod"}},
		{"what is updated is not applied", contract.Contract{{Manager: "web", Kind: deploymentKind, Updates: []string{".spec"}}}, []string{"spec: {replicas: 3}"},
			[]string{emits + ".spec.replicas of"}},
		{"an item, whose key field comes with it", claims(`.spec.containers[name="web"].image`),
			[]string{"spec: {containers: [{name: web, image: a}]}"}, nil},
		{"another item", claims(`.spec.containers[name="web"].image`), []string{"spec: {containers: [{name: web, image: a}, {name: log, image: b}]}"},
			[]string{emits + `.spec.containers[name="log"].image`, emits + `.spec.containers[name="log"].name`}},
		{"another field of the item", claims(`.spec.containers[name="web"].image`), []string{"spec: {containers: [{name: web, image: a, env: [{name: A}]}]}"},
			[]string{emits + `.spec.containers[name="web"].env`}},
		{"items, each as a whole", claims(`.conditions[type="A"]`, `.conditions[type="B"]`),
			[]string{"conditions: [{type: A, status: 'True'}, {type: B, status: 'True'}]"}, nil},
		{"a key field that the server fills in", claims(`.ports[containerPort=80,protocol="TCP"].name`), []string{"ports: [{containerPort: 80, name: http}]"}, nil},
		{"two key fields", claims(`.ports[containerPort=80,protocol="TCP"].name`),
			[]string{"ports: [{containerPort: 80, protocol: TCP, name: http}, {containerPort: 80, protocol: UDP, name: dns}]"},
			[]string{emits + `.ports[containerPort=80,protocol="UDP"].containerPort`, emits + `.ports[containerPort=80,protocol="UDP"].name`, emits + `.ports[containerPort=80,protocol="UDP"].protocol`}},
		{"members of a set", claims(`.finalizers[="a"]`), []string{"finalizers: [a, b]"}, []string{emits + `.finalizers[="b"]`}},
		{"an atomic list", claims(`.args[0]`), []string{"args: [a, b]"}, []string{emits + `.args[1]`}},
		{"a list as a whole", claims(`.args`), []string{"args: [a, {b: c}]"}, nil},
		{"a list that nobody claims", claims(".x.z"), []string{"{x: {z: 1}, args: [a, b]}"}, []string{emits + ".args of"}},
		{"an item of another list", claims(`.a[name="x"].v`, `.b[id=1].v`), []string{"{a: [{name: x, v: 1}], b: [{id: 1, v: 1}, {id: 2, name: x, v: 1}]}"},
			[]string{emits + ".b[id=2].id", emits + ".b[id=2].name", emits + ".b[id=2].v"}},
		{"a key that is no key", claims(`.conditions[type="A"]`), []string{"conditions: [{type: A}, {type: {x: y}}]"}, []string{emits + ".conditions[1].type.x"}},
		{"many fields, in order", claims(".x"), []string{"{x: 1, h: 1, g: 1, f: 1, e: 1, d: 1, c: 1, b: 1}"},
			[]string{emits + ".b of", emits + ".c of", emits + ".d of", emits + ".e of", emits + ".f of", emits + ".g of", emits + ".h of"}},
		{"several kinds of nothing", contract.Contract{
			{Manager: "web", Kind: schema.GroupKind{Kind: "D"}, Applies: []string{".x"}}, {Manager: "web", Kind: schema.GroupKind{Kind: "C"}, Applies: []string{".x"}},
			{Manager: "web", Kind: schema.GroupKind{Kind: "B"}, Applies: []string{".x"}}, {Manager: "web", Kind: schema.GroupKind{Kind: "A"}, Applies: []string{".x"}},
		}, []string{"{}"}, []string{unused + ".x of A", unused + ".x of B", unused + ".x of C", unused + ".x of D"}},
		{"an item without its key", claims(`.conditions[type="A"]`), []string{"conditions: [{status: 'True'}]"},
			[]string{emits + `.conditions[0].status`, unused + `.conditions[type="A"]`}},
		{"odd keys", claims(`.x["a.b/\"c"]`), []string{`x: {'a.b/"c': d}`}, nil},

		{"no parent", claims(".spec"), nil, []string{"applytest: Owns needs at least one parent"}},
		{"two managers", append(claims(".spec"), contract.Claim{Manager: "b", Kind: deploymentKind, Applies: []string{".x"}}), []string{"{}"},
			[]string{`applytest: Owns checks the contract of one field manager, but this contract has 2 managers: ["b" "web"]`}},
		{"no manager", nil, []string{"{}"}, []string{"applytest: Owns checks the contract of one field manager"}},
		{"a bad claim", claims("spec"), []string{"{}"}, []string{`contract: "web", Deployment.apps, spec: malformed path`}},
	} {
		inner := &testingT{TB: t}
		applytest.Owns(inner, test.claims, fromYAML, test.parents...)
		if len(inner.failures) != len(test.want) {
			t.Errorf("%s: %d failures, want %d:\n%s", test.reason, len(inner.failures), len(test.want), strings.Join(inner.failures, "\n"))
			continue
		}
		for i, want := range test.want {
			if !strings.HasPrefix(inner.failures[i], want) {
				t.Errorf("%s: failure %d is not %s\n%s", test.reason, i, want, strings.Join(inner.failures, "\n"))
			}
		}
	}
}

func TestOwnsWhatCannotBeEmitted(t *testing.T) {
	inner := &testingT{TB: t}
	applytest.Owns(inner, claims(".spec"), func(int) ([]apply.Intent, error) { return nil, errors.New("no name") }, 7)
	want := []string{"computing the intents of parents[0]: no name", "web claims .spec of Deployment.apps but emits no field at or below the path: remove the path from Applies or add parents whose intents set the path"}
	if diff := cmp.Diff(want, inner.failures); diff != "" {
		t.Error(diff)
	}
}

// TestOwnsWhatDiffers: an emit function whose two calls return different intents fails the test,
// and the failure names the field.
func TestOwnsWhatDiffers(t *testing.T) {
	calls := 0
	emit := func(struct{}) ([]apply.Intent, error) {
		calls++
		return fromYAML(fmt.Sprintf("{metadata: {name: x}, spec: {replicas: %d}}", calls))
	}
	inner := &testingT{TB: t}
	applytest.Owns(inner, claims(".spec.replicas"), emit, struct{}{})
	if len(inner.failures) != 1 || !strings.Contains(inner.failures[0], "computing the intents of parents[0]: two calls of Emit for the same parent returned different values of .spec.replicas") {
		t.Errorf("%q", inner.failures)
	}
}

// TestOwnsWhatCannotBeEncoded: nothing can be said of the fields of such an intent.
func TestOwnsWhatCannotBeEncoded(t *testing.T) {
	broken := client.ApplyConfigurationFromUnstructured(notJSON())
	for reason, intent := range map[string]apply.Intent{
		"the configuration": {Config: broken},
		"the body":          {Config: threeReplicas(), Subresource: "scale", Body: broken},
	} {
		inner := &testingT{TB: t}
		applytest.Owns(inner, claims(".spec"), func(int) ([]apply.Intent, error) { return []apply.Intent{intent}, nil }, 7)
		if len(inner.failures) != 2 || !strings.HasPrefix(inner.failures[0], "checking the intents of parents[0]: json: ") || !strings.Contains(inner.failures[0], "unsupported type") {
			t.Errorf("%s: %q", reason, inner.failures)
		}
	}
}

// TestOwnsABody: what is sent through /scale is a field of the object.
func TestOwnsABody(t *testing.T) {
	emit := func(struct{}) ([]apply.Intent, error) { return intents()[3:], nil }
	applytest.Owns(t, claims(".spec.replicas"), emit, struct{}{})
}
