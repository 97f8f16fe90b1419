package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/apply"
	"coapply.dev/cmd/kubectl-fieldowners/explain"
	"coapply.dev/test/kit"
)

// byClientSideApply makes an object {a: 1, b: 2} by client-side apply, and gives what
// kubectl answers to a server-side apply of {a: 9, c: 3}.
func (w kubectlWorld) byClientSideApply(name, manager string) (printed string) {
	w.Helper()
	w.must("apply", "--field-manager="+manager, "-f", w.file(dataOf(name, `{a: "1", b: "2"}`)))
	printed, ok := w.run("apply", "--server-side", "--field-manager=ci", "-f", w.file(dataOf(name, `{a: "9", c: "3"}`)))
	if ok {
		w.Fatalf("no conflict: %s", printed)
	}
	return printed
}

func dataOf(name, data string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}, data: " + data + "}"
}

func (w kubectlWorld) data(name string) map[string]any {
	w.Helper()
	data, _, err := unstructured.NestedMap(w.live("ConfigMap", "v1", name), "data")
	if err != nil {
		w.Fatal(err)
	}
	return data
}

// warned gives for each way whether it tells of the takeover.
func warned(t *testing.T, printed string, live map[string]any) (ways []bool) {
	t.Helper()
	explanations, err := explain.Answer([]byte(printed), list(live), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range explanations[0].Ways {
		ways = append(ways, strings.Contains(way.Why, "kubectl apply takes over everything that client-side apply wrote"))
	}
	if got := explanations[0].Ways[1].Command == ""; got != ways[1] {
		t.Errorf("a command to leave fields out: %t; warned %t", !got, ways[1])
	}
	return ways
}

// TestExplainTakeover goes each way by the real kubectl on objects that client-side
// apply manages: it deletes what the file does not list, and Explain says so.
func TestExplainTakeover(t *testing.T) {
	t.Parallel()
	w := newKubectlWorld(t)
	const plain, forced = "apply --server-side --field-manager=ci -f", "apply --server-side --force-conflicts --field-manager=ci -f"
	all, none := []bool{true, true, true}, []bool{false, false, false}
	for i, c := range []struct {
		reason, manager string
		command, file   string
		unseen          []bool // what is warned of without the live object
		want            map[string]any
	}{
		{"force", "kubectl-client-side-apply", forced, `{a: "9", c: "3"}`, all, map[string]any{"a": "9", "c": "3"}},
		{"leave out", "kubectl-client-side-apply", plain, `{c: "3"}`, all, map[string]any{"c": "3"}},
		{"share", "kubectl-client-side-apply", plain, `{a: "1", c: "3"}`, all, map[string]any{"a": "1", "c": "3"}},
		{"leave out, under another name", "deployer", plain, `{c: "3"}`, none, map[string]any{"c": "3"}},
	} {
		name := string(rune('a' + i))
		printed := w.byClientSideApply(name, c.manager)
		if diff := cmp.Diff(c.unseen, warned(t, printed, nil)); diff != "" {
			t.Errorf("%s: without the live object (-want +got):\n%s\n%s", c.reason, diff, printed)
		}
		if diff := cmp.Diff(all, warned(t, printed, w.live("ConfigMap", "v1", name))); diff != "" {
			t.Errorf("%s: with the live object (-want +got):\n%s\n%s", c.reason, diff, printed)
		}
		w.must(append(strings.Fields(c.command), w.file(dataOf(name, c.file)))...)
		if diff := cmp.Diff(c.want, w.data(name)); diff != "" {
			t.Errorf("%s: kubectl did otherwise than is warned of (-want +got):\n%s", c.reason, diff)
		}
	}
}

// TestExplainTakeoverElsewhere goes the same ways by the policies of apply.Applier:
// nothing is deleted.
func TestExplainTakeoverElsewhere(t *testing.T) {
	t.Parallel()
	w := newKubectlWorld(t)
	for i, c := range []struct {
		decision apply.Decision
		want     map[string]any
	}{
		{apply.Force, map[string]any{"a": "9", "b": "2", "c": "3"}},
		{apply.Relinquish, map[string]any{"a": "1", "b": "2", "c": "3"}},
		{apply.Share, map[string]any{"a": "1", "b": "2", "c": "3"}},
	} {
		name := string(rune('a' + i))
		w.byClientSideApply(name, "kubectl-client-side-apply")
		var intent unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(dataOf(name, `{a: "9", c: "3"}`)), &intent); err != nil {
			t.Fatal(err)
		}
		intent.SetNamespace(w.namespace)
		applier := kit.NewApplier(t, w.client, "ci", apply.OnConflict(apply.Reject).At(".data.a", c.decision))
		if _, err := applier.Apply(t.Context(), apply.Intent{Config: client.ApplyConfigurationFromUnstructured(&intent)}); err != nil {
			t.Fatalf("%v: %v", c.decision, err)
		}
		if diff := cmp.Diff(c.want, w.data(name)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.decision, diff)
		}
	}
}

// TestExplainTakeoverNever has an object that appliers alone manage: kubectl keeps what
// the file does not list, and Explain warns of nothing.
func TestExplainTakeoverNever(t *testing.T) {
	t.Parallel()
	w := newKubectlWorld(t)
	w.must("apply", "--server-side", "--field-manager=one", "-f", w.file(dataOf("a", `{a: "1", b: "2"}`)))
	printed, ok := w.run("apply", "--server-side", "--field-manager=ci", "-f", w.file(dataOf("a", `{a: "9", c: "3"}`)))
	if ok {
		t.Fatal("no conflict")
	}
	none := []bool{false, false, false}
	if diff := cmp.Diff(none, warned(t, printed, w.live("ConfigMap", "v1", "a"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.must("apply", "--server-side", "--field-manager=ci", "-f", w.file(dataOf("a", `{c: "3"}`)))
	if diff := cmp.Diff(map[string]any{"a": "1", "b": "2", "c": "3"}, w.data("a")); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}
