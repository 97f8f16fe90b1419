package plugin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit"
)

// inTurn is one write of two managers that write to a ConfigMap in turn; n counts them.
type inTurn func(t *testing.T, c client.Client, namespace string, n int) error

func mergesAs(manager, body string) inTurn {
	return func(t *testing.T, c client.Client, namespace string, n int) error {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
		patch := client.RawPatch(types.MergePatchType, []byte(strings.ReplaceAll(body, "N", fmt.Sprint(n))))
		return c.Patch(t.Context(), o, patch, client.FieldOwner(manager))
	}
}

func forcesAs(manager string) inTurn {
	return func(t *testing.T, c client.Client, namespace string, n int) error {
		config := corev1ac.ConfigMap("shop", namespace).WithData(map[string]string{"x": fmt.Sprint(n)})
		return c.Apply(t.Context(), config, client.FieldOwner(manager), client.ForceOwnership)
	}
}

// turnCases are managers none of which is ours, and who of them is told of: the type of the
// event, the field and the managers.
var turnCases = []struct {
	reason string
	a, b   inTurn
	want   string // "" is nothing
}{
	{"both force", forcesAs("a"), forcesAs("b"), "fight .data.x a/Apply b/Apply"},
	{"both update", mergesAs("a", `{"data":{"x":"N"}}`), mergesAs("b", `{"data":{"x":"N"}}`), "fight .data.x a/Update b/Update"},
	{"one adds what the other deletes", mergesAs("a", `{"data":{"x":"N"}}`), mergesAs("b", `{"data":{"x":null}}`), "fight .data.x a/Update"},
	{"each answers in a field of its own", mergesAs("a", `{"data":{"y":"N"}}`), mergesAs("b", `{"data":{"z":"N"}}`), "loop a/Update b/Update"},
}

// waitTurns writes in turn until enough is said to be true, and at least so many times.
func waitTurns(t *testing.T, namespace string, a, b inTurn, least int, enough func() bool) {
	t.Helper()
	c, n := kit.NewClient(t, kit.Server(t)), 0
	kit.WaitFor(t, "it is seen", func() string {
		for _, write := range []inTurn{a, b} {
			n++
			if err := write(t, c, namespace, n); err != nil {
				return err.Error()
			}
		}
		if n < least || !enough() {
			return fmt.Sprintf("not after %d writes", n)
		}
		return ""
	})
}

func turnsObject(t *testing.T) string {
	t.Helper()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for _, name := range []string{"shop", "quiet"} {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"of": "creator"}}
		if err := c.Create(t.Context(), o, client.FieldOwner("creator")); err != nil {
			t.Fatal(err)
		}
	}
	return namespace
}

// TestWatchTellsOfTurns has two managers alternate on an object, with and without a field that
// both write.
func TestWatchTellsOfTurns(t *testing.T) {
	for _, test := range turnCases {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			namespace := turnsObject(t)
			w := startWatch(t, kit.Server(t), 1, "configmaps", "-n", namespace, "--only-fights", "-o", "json")
			waitTurns(t, namespace, test.a, test.b, 0, func() bool { return w.out.String() != "" })
			w.interrupt(t)
			e := w.events(t)[0]
			got := strings.TrimSpace(e.Type + " " + e.Path)
			for _, m := range e.Managers {
				got += " " + m.String()
			}
			if diff := cmp.Diff(test.want, got); diff != "" || e.Name != "shop" || e.Times < 6 {
				t.Errorf("%+v (-want +got):\n%s", e, diff)
			}
		})
	}
}

// TestWatchIsQuietOfOneWriter has one manager write often, and another one once.
func TestWatchIsQuietOfOneWriter(t *testing.T) {
	t.Parallel()
	namespace := turnsObject(t)
	w := startWatch(t, kit.Server(t), 1, "configmaps", "-n", namespace, "--only-fights", "-o", "json")
	heartbeat := mergesAs("beat", `{"metadata":{"annotations":{"renewed":"N"}}}`)
	once := false
	other := func(t *testing.T, c client.Client, namespace string, n int) error {
		if once {
			return nil
		}
		once = true
		return mergesAs("other", `{"data":{"y":"N"}}`)(t, c, namespace, n)
	}
	waitTurns(t, namespace, heartbeat, other, 200, func() bool { return true })
	waitTurns(t, namespace, forcesAs("a"), forcesAs("b"), 0, func() bool { return w.out.String() != "" })
	w.interrupt(t)
	for _, e := range w.events(t) {
		if e.Path != ".data.x" {
			t.Errorf("told of one that writes often: %+v", e)
		}
	}
}
