package apply

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestTakeBackByTwo: another process of ours takes the fields back between our conflict and our look at it. There is nothing
// lost any more then, and nothing to wait for.
func TestTakeBackByTwo(t *testing.T) {
	plain := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, plain)
	contract := apply.Contract{{Manager: "us", Kind: schema.GroupKind{Kind: "ConfigMap"}, Applies: []string{".data"}}}
	intent := func(value string) apply.Intent {
		return apply.Intent{Config: corev1ac.ConfigMap("a", namespace).WithData(map[string]string{"a": value}), Belongs: kit.BelongsAlways}
	}
	of := func(c client.Client) *apply.Applier {
		applier, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: c, Contract: contract})
		if err != nil {
			t.Fatal(err)
		}
		return applier
	}
	other := of(plain)
	live := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	watching, err := client.NewWithWatch(kit.RecordedConfig(t), client.Options{Scheme: kit.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	conflicts := 0
	us := of(interceptor.NewClient(watching, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			if conflicts == 0 { // it was as it should be when it was looked at
				wipeFields(t, plain, live)
			}
			err := c.Apply(ctx, o, options...)
			if apply.IsOwnershipConflict(err) {
				if conflicts++; conflicts == 1 {
					if _, err := other.Apply(ctx, intent("1")); err != nil {
						t.Error(err)
					}
				}
			}
			return err
		}}))
	if _, err := other.Apply(t.Context(), intent("1")); err != nil {
		t.Fatal(err)
	}
	outcome, err := us.Apply(t.Context(), intent("2"))
	if err != nil || conflicts != 1 {
		t.Errorf("%d conflicts, %v", conflicts, err)
	}
	if err := plain.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil || live.Data["a"] != "2" {
		t.Errorf("%v, %v, %+v", live.Data, err, outcome)
	}
}

// TestPlanOfTakingBack: a plan names what Apply would take back, and writes nothing.
func TestPlanOfTakingBack(t *testing.T) {
	t.Parallel()
	watched := &dryRuns{t: t}
	config := rest.CopyConfig(kit.Server(t))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { watched.next = next; return watched })
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
	us, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: c, Contract: apply.Contract{{Manager: "us", Kind: schema.GroupKind{Kind: "ConfigMap"}, Applies: []string{".data"}}}})
	if err != nil {
		t.Fatal(err)
	}
	intent := func(data map[string]string) apply.Intent {
		return apply.Intent{Config: corev1ac.ConfigMap("a", namespace).WithData(data), Belongs: kit.BelongsAlways}
	}
	if _, err := us.Apply(t.Context(), intent(map[string]string{"a": "1", "b": "1", "c": "1"})); err != nil {
		t.Fatal(err)
	}
	live := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	other := kit.NewApplier(t, c, "other", apply.Policy{})
	wanted := intent(map[string]string{"a": "2", "b": "1"})
	for _, made := range []bool{false, true} { // whether the server has made up the owner already
		wipeFields(t, c, live)
		if made {
			if _, err := other.Apply(t.Context(), apply.Intent{Config: corev1ac.ConfigMap("a", namespace).WithLabels(map[string]string{"x": "y"})}); err != nil {
				t.Fatal(err)
			}
		}
		watched.watch(true)
		plan, err := us.Plan(t.Context(), wanted)
		if err != nil || plan.Refused != nil || plan.Action != apply.Configured || fmt.Sprint(plan.TakenBack) != "[.data .data.a .data.b .data.c]" {
			t.Errorf("made up: %v: %+v, %v", made, plan, err)
		}
		if len(plan.Conflicts)+len(plan.Changes)+len(plan.Taken) > 0 || !strings.Contains(plan.String(), ".data.a from before-first-apply") {
			t.Errorf("made up: %v:\n%v", made, plan)
		}
		watched.watch(false)
	}
	outcome, err := us.Apply(t.Context(), wanted)
	if err != nil || fmt.Sprint(outcome.TakenBack) != "[.data .data.a .data.b .data.c]" {
		t.Errorf("taken back: %v, %v", outcome.TakenBack, err)
	}
	if plan, err := us.Plan(t.Context(), wanted); err != nil || plan.Action != apply.Unchanged || len(plan.TakenBack) > 0 {
		t.Errorf("afterwards: %+v, %v", plan, err)
	}
}
