package apply_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
)

// canonical gives JSON with its keys in order.
func canonical(t *testing.T, text string) string {
	t.Helper()
	raw, err := json.Marshal(bodyOf(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// joins has a manager apply the live number of replicas, so that it owns the field, too.
func joins(by string) func(*world) {
	return func(w *world) {
		config := threeReplicas()
		config.Spec.WithReplicas(*w.Live().Spec.Replicas)
		w.Must(w.Apply(w.Context(), config, client.FieldOwner(by), client.ForceOwnership))
	}
}

// ownerChanges has a manager take the place of hpa.
func ownerChanges(by string) func(*world) {
	return func(w *world) {
		entries := w.Live().ManagedFields
		for i := range entries {
			if entries[i].Manager == "hpa" {
				entries[i].Manager = by
			}
		}
		owned(entries...)(w)
	}
}

// letsGo has hpa own nothing any more.
func letsGo(w *world) {
	owned(slices.DeleteFunc(w.Live().ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == "hpa" })...)(w)
}

// TestGivingWayAgain: what follows on a first Apply under which the replicas gave way. Without a
// cache the object is read first.
func TestGivingWayAgain(t *testing.T) {
	byOwner := apply.OnConflict(apply.Reject).When(apply.Match{Manager: "hpa"}, apply.Relinquish)
	for name, c := range map[string]struct {
		reason  string
		policy  apply.Policy
		next    *appsv1ac.DeploymentApplyConfiguration // threeReplicas unless given
		happens func(*world)                           // after the first Apply
		sent    []string
		action  apply.Action
		err     error
		want    []string // conflicts
		isNew   bool     // they are not those of the first apply
	}{
		"relinquished": {
			reason: "the object shows what is conceded",
			policy: relinquish, sent: []string{read, pinned}, action: apply.Unchanged, want: []string{relinquishedReplicas},
		},
		"shared": {
			reason: "so it is for a shared field",
			policy: share, sent: []string{read, pinned}, action: apply.Unchanged, want: []string{sharedReplicas},
		},
		"the owner lets go": {
			reason: "the whole intent follows at once",
			policy: relinquish, happens: letsGo, sent: []string{read, whole}, action: apply.Configured,
		},
		"the owner comes round to our value": {
			reason: "then there is nothing to give way in, and the field is co-owned",
			policy: relinquish, happens: scaled(3), sent: []string{read, whole}, action: apply.Configured,
		},
		"another owner, whom the policy rejects": {
			reason: "the server is to confirm it", policy: byOwner, happens: ownerChanges("vpa"), sent: []string{read, whole},
			err: apply.ErrConflict, want: []string{"Reject .spec.replicas to 3: owned by vpa/Update[scale] with value 5"}, isNew: true,
		},
		"another intent": {
			reason: "the field is contested, whatever else is wanted", policy: byOwner,
			next: threeReplicas().WithLabels(map[string]string{"new": "label"}), sent: []string{read, pinned},
			action: apply.Configured, want: []string{relinquishedReplicas},
		},
		"the field is not wanted any more": {
			reason: "there is nothing to give way in",
			policy: relinquish, next: appsv1ac.Deployment("web", "shop"), sent: []string{read, whole}, action: apply.Unchanged,
		},
		"another field becomes contested": {
			reason: "the read shows it, too", policy: relinquish, next: replicasAndPause(),
			sent: []string{read, pinned}, action: apply.Unchanged, isNew: true,
			want: []string{"Relinquish .spec.paused to false: owned by kubectl/Apply with value true", relinquishedReplicas},
		},
		"recreated with the same owner": {
			reason: "the new object is read", policy: relinquish, happens: recreated(), sent: []string{read, pinned},
			action: apply.Configured, want: []string{relinquishedReplicas}, isNew: true,
		},
		"deleted": {
			reason: "the whole intent creates it", policy: relinquish, next: wholeWeb(), happens: removed, sent: []string{read, whole}, action: apply.Created,
		},
		"the server fails": {
			reason: "the next try reads again", policy: relinquish,
			happens: func(w *world) { w.At(5, applytest.Fault{LoseRequest: true}) }, sent: []string{read, pinned, read, pinned},
			action: apply.Unchanged, want: []string{relinquishedReplicas},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			w := newWorld(t)
			applier := w.applier(c.policy)
			_, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()})
			w.Must(err)
			w.WantSent(whole, read, pinned)
			if c.happens != nil {
				c.happens(w)
			}
			if c.next == nil {
				c.next = threeReplicas()
			}
			outcome, err := applier.Apply(t.Context(), apply.Intent{Config: c.next})
			if !errors.Is(err, c.err) || outcome.Action != c.action {
				t.Errorf("%s, %v; want %s, %v", outcome.Action, err, c.action, c.err)
			}
			w.WantSent(append([]string{whole, read, pinned}, c.sent...)...)
			if diff := cmp.Diff(c.want, texts(outcome.Conflicts)); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
			isNew := func(conflict apply.Conflict) bool { return !conflict.Remembered }
			if got := slices.ContainsFunc(outcome.Conflicts, isNew); got != c.isNew {
				t.Errorf("a conflict is new: %v, want %v", got, c.isNew)
			}
		})
	}
}

// TestGivingWayByTheCache: an object that was read anyway shows what to concede. The one request
// is pinned to it.
func TestGivingWayByTheCache(t *testing.T) {
	for reason, c := range map[string]struct {
		policy  apply.Policy
		happens func(*world)
		sent    []string
		want    []string
	}{
		"relinquished":        {relinquish, nil, []string{atVersion}, []string{relinquishedReplicas}},
		"shared":              {share, nil, []string{atVersion}, []string{sharedReplicas}},
		"the cache is behind": {relinquish, touched, []string{atVersion, read, pinned}, []string{relinquishedReplicas}},
		"the cache is behind, and the owner has let go": {relinquish, letsGo, []string{atVersion, read, pinned}, nil},
		"rejected": {apply.Policy{}, nil, []string{pinned, read}, []string{rejectReplicas}},
	} {
		w := newWorld(t)
		cachedNow(w)
		if c.happens != nil {
			c.happens(w)
		}
		outcome, err := w.applier(c.policy).Apply(t.Context(), apply.Intent{Config: threeReplicas(), MustExist: true})
		if diff := cmp.Diff(c.want, texts(outcome.Conflicts)); diff != "" || (err != nil) != (reason == "rejected") {
			t.Errorf("%s: %v (-want +got):\n%s", reason, err, diff)
		}
		w.WantSent(c.sent...)
	}
}

// TestSeveralOwners: each owner is reported, and one that joins may decide.
func TestSeveralOwners(t *testing.T) {
	sharedWithVPA := "Share .spec.replicas to 3: owned by vpa/Apply with value 5"
	byOwner := share.When(apply.Match{Manager: "vpa"}, apply.Relinquish)
	byForce := share.When(apply.Match{Manager: "vpa"}, apply.Force)
	for name, c := range map[string]struct {
		policy        apply.Policy
		first, second func(*world)
		want          [2][]string // conflicts of the first and of the second apply
	}{
		"two all along": {share, joins("vpa"), nil, [2][]string{{sharedReplicas, sharedWithVPA}, {sharedReplicas, sharedWithVPA}}},
		"one joins":     {share, nil, joins("vpa"), [2][]string{{sharedReplicas}, {sharedReplicas, sharedWithVPA}}},
		"one joins and is decided otherwise": {
			byOwner, nil, joins("vpa"), [2][]string{{sharedReplicas}, {sharedReplicas, "Relinquish .spec.replicas to 3: owned by vpa/Apply with value 5"}},
		},
		"one would be forced": {byForce, joins("vpa"), nil, [2][]string{{sharedReplicas}, {sharedReplicas}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			applier := w.applier(c.policy)
			for i, happens := range []func(*world){c.first, c.second} {
				if happens != nil {
					happens(w)
				}
				outcome, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want[i], texts(outcome.Conflicts)); diff != "" {
					t.Errorf("apply %d: conflicts (-want +got):\n%s", i+1, diff)
				}
			}
			last := pinned
			if name == "one joins and is decided otherwise" {
				last = atVersion // we own the field, and give it up only as long as vpa owns it
			}
			w.WantSent(whole, read, pinned, read, last)
		})
	}
}

// TestGivingWayIsOfOneObject: that web gave way says nothing about api.
func TestGivingWayIsOfOneObject(t *testing.T) {
	w := newWorld(t)
	applier := w.applier(relinquish)
	api := wholeWeb().WithName("api")
	for _, config := range []*appsv1ac.DeploymentApplyConfiguration{threeReplicas(), api} {
		if _, err := applier.Apply(t.Context(), apply.Intent{Config: config}); err != nil {
			t.Fatal(err)
		}
	}
	w.WantSent(whole, read, pinned, "PATCH deployments/api")
}

// TestRememberedConflictsAreObservedOnce: metrics count what is new.
func TestRememberedConflictsAreObservedOnce(t *testing.T) {
	seen := &decisions{}
	applier := newWorld(t).applierOf(apply.Config{Policy: relinquish, Metrics: seen})
	for range 2 {
		if _, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()}); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen.all) != 2 || seen.all[0][apply.Relinquish] != 1 || seen.all[1][apply.Relinquish] != 0 {
		t.Errorf("observed %v", seen.all)
	}
}

type decisions struct {
	ignoredUpdates

	all []map[apply.Decision]int
}

func (d *decisions) ObserveApply(seen apply.ApplyObservation) { d.all = append(d.all, seen.Conflicts) }

// TestAnOwnerJoins: an owner who joins, and to whom the intent does not give way, is judged as
// any other.
func TestAnOwnerJoins(t *testing.T) {
	for want, policy := range map[error]apply.Policy{
		apply.ErrConflict: share.When(apply.Match{Manager: "vpa"}, apply.Reject),
		apply.ErrRefused:  share.Func(func(c apply.Conflict) (apply.Decision, bool) { return 42, c.Manager.Name == "vpa" }),
	} {
		w := newWorld(t)
		applier := w.applier(policy)
		if _, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()}); err != nil {
			t.Fatal(err)
		}
		joins("vpa")(w)
		if _, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()}); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		w.WantSent(whole, read, pinned, read, whole)
	}
}
