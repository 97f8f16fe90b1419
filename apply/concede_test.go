package apply_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// Both are fields that others own, one of them with another value of ours.
func replicasAndPause() *appsv1ac.DeploymentApplyConfiguration {
	config := threeReplicas()
	config.Spec.WithPaused(false)
	return config
}

var (
	relinquish = apply.OnConflict(apply.Relinquish)
	share      = apply.OnConflict(apply.Share)

	relinquishedReplicas = "Relinquish .spec.replicas to 3: owned by hpa/Update[scale] with value 5"
	sharedReplicas       = "Share .spec.replicas to 3: owned by hpa/Update[scale] with value 5"
	forcedPause          = "Force .spec.paused to false: owned by kubectl/Apply with value true"
)

// hides makes the LiveReader hide owners of the object, as a client that strips managed fields does.
func hides(names ...string) func(*world) {
	return func(w *world) {
		w.live = func(o client.Object) {
			o.SetManagedFields(slices.DeleteFunc(o.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return slices.Contains(names, e.Manager) }))
		}
	}
}

func TestConcede(t *testing.T) {
	two := apply.Intent{Config: replicasAndPause()}
	side := `Relinquish .spec.template.spec.containers[name="side"].image to "ours": owned by kubectl/Apply with value "theirs"`
	play(t, map[string]scene{
		"relinquish": {
			reason: "the field is left out, pinned to the object that it was conceded to", policy: relinquish,
			sent: []string{whole, read, pinned}, attempts: 2, action: apply.Configured, conflicts: []string{relinquishedReplicas},
		},
		"share": {
			reason: "the live value is adopted", policy: share,
			sent: []string{whole, read, pinned}, attempts: 2, action: apply.Configured, conflicts: []string{sharedReplicas},
		},
		"a shared value moves on": {
			reason: "it is read again: nobody's value but the live one is adopted", policy: share, happens: before(3, scaled(6)),
			sent: []string{whole, read, pinned, read, pinned}, attempts: 3, action: apply.Configured,
			conflicts: []string{"Share .spec.replicas to 3: owned by hpa/Update[scale] with value 6"},
		},
		"a shared value moves on, and owners are not shown": {
			reason: "it is the live value that is adopted, then, too", policy: share,
			happens: allOf(before(3, scaled(6)), before(4, hides("hpa", "kubectl"))),
			sent:    []string{whole, read, pinned, read, whole, pinned}, attempts: 4, action: apply.Configured,
			conflicts: []string{"Share .spec.replicas to 3: owned by hpa/Update[scale] with value 6"},
		},
		"force the one and relinquish the other": {
			reason: "what is left is judged before it is forced", policy: relinquish.At(".spec.paused", apply.Force), intent: two,
			sent: []string{whole, read, pinned, forces}, attempts: 3, action: apply.Configured, conflicts: []string{forcedPause, relinquishedReplicas},
		},
		"contested meanwhile": {
			reason: "a field that becomes contested between two applies is conceded too, and then all is judged again",
			policy: relinquish.At(".spec.paused", apply.Force), intent: two, happens: allOf(owned(kubectl), before(2, owned(hpa, kubectl))),
			sent: []string{whole, read, pinned, forces}, attempts: 3, action: apply.Configured, conflicts: []string{forcedPause, relinquishedReplicas},
		},
		"one of two is rejected": {
			reason: "then nothing lands", policy: relinquish.At(".spec.paused", apply.Reject), intent: two,
			sent: []string{whole, read}, attempts: 1, err: apply.ErrConflict,
			conflicts: []string{"Reject .spec.paused to false: owned by kubectl/Apply with value true", relinquishedReplicas},
		},
		"recreated meanwhile": {
			reason: "what was conceded to the earlier object is not conceded to the new one", policy: relinquish, happens: before(3, recreated()),
			sent: []string{whole, read, pinned, read, pinned}, attempts: 3, action: apply.Configured, conflicts: []string{relinquishedReplicas},
		},
		"deleted meanwhile": {
			reason: "the whole intent creates it again, not what was left of it", policy: relinquish, intent: apply.Intent{Config: wholeWeb()},
			happens: before(3, removed), sent: []string{whole, read, pinned, read, whole}, attempts: 3, action: apply.Created,
		},
		"deleted meanwhile, and it must exist": {
			reason: "then it is waited for", policy: relinquish, intent: apply.Intent{Config: threeReplicas(), MustExist: true},
			happens: allOf(cachedNow, touched, before(3, removed)), sent: []string{atVersion, read, pinned, read}, attempts: 2, action: apply.Absent,
		},
		"no decision": {
			reason: "a function that gives what is no decision is a mistake to be told",
			policy: relinquish.Func(func(apply.Conflict) (apply.Decision, bool) { return 42, true }),
			sent:   []string{whole, read}, attempts: 1, err: apply.ErrRefused,
		},
		"owners that the object does not show": {
			reason: "the whole intent is sent again, and gives way when it is refused again", policy: relinquish, happens: hides("hpa"),
			sent: []string{whole, read, whole, pinned}, attempts: 3, action: apply.Configured, conflicts: []string{relinquishedReplicas},
		},
		"what is left is refused": {
			reason: "a refusal is no stale write, though the apply is pinned", policy: relinquish, happens: fails(3, forbidden),
			sent: []string{whole, read, pinned}, attempts: 2, err: apply.ErrRefused, conflicts: []string{relinquishedReplicas},
		},
		"what is left of an item is refused": {
			reason: "nor is it where the resourceVersion is pinned", policy: relinquish, intent: sideIntent(false),
			happens: allOf(besideSideCar(wholeItem, itemOfOur), fails(3, forbidden)),
			sent:    []string{whole, read, atVersion}, attempts: 2, err: apply.ErrRefused, conflicts: []string{side},
		},
		"a value that is not there": {
			reason: "kubectl owns the field and the object has no value: there is none to adopt", policy: share,
			intent:  apply.Intent{Config: appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().WithMinReadySeconds(3))},
			happens: owned(entry("kubectl", "Apply", "", `{"f:spec":{"f:minReadySeconds":{}}}`)),
			sent:    []string{whole, read, pinned}, attempts: 2, action: apply.Configured,
			conflicts: []string{"Share .spec.minReadySeconds to 3: owned by kubectl/Apply with value null"},
		},
	})
}

// TestWhatIsSentOfAnIntent looks at the bodies: each decision has its own.
func TestWhatIsSentOfAnIntent(t *testing.T) {
	const named = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"UID"}`
	for name, c := range map[string]struct {
		policy apply.Policy
		want   string
	}{
		"relinquish both":             {relinquish, named + `}`},
		"relinquish one, share other": {relinquish.At(".spec.paused", apply.Share), named + `,"spec":{"paused":true}}`},
		"share both":                  {share, named + `,"spec":{"paused":true,"replicas":5}}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			config := replicasAndPause()
			_, err := w.applier(c.policy).Apply(t.Context(), apply.Intent{Config: config})
			w.Must(err)
			w.WantSent(whole, read, pinned)
			if diff := cmp.Diff(strings.Replace(c.want, "UID", string(w.Live().UID), 1), canonical(t, w.LastBody())); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(replicasAndPause(), config); diff != "" {
				t.Errorf("the caller's configuration was written to:\n%s", diff)
			}
		})
	}
}

// TestContendedByShare bounds how often a shared value may move on.
func TestContendedByShare(t *testing.T) {
	var moves []func(*world)
	for i := range 8 {
		moves = append(moves, before(3+2*i, scaled(int32(6+i))))
	}
	play(t, map[string]scene{"contended": {
		reason: "the value moves on under every try", policy: share, happens: allOf(moves...),
		sent:     append([]string{whole}, slices.Repeat([]string{read, pinned}, 8)...),
		attempts: 9, err: apply.ErrContended, conflicts: []string{"Share .spec.replicas to 3: owned by hpa/Update[scale] with value 12"},
	}})
}
