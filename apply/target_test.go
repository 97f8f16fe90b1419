package apply_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit/memory"
)

func isBornOurs(object client.Object) bool { return object.GetLabels()["born"] == "ours" }

// bornWeb is an intent for an object that is ours from birth.
func bornWeb() *appsv1ac.DeploymentApplyConfiguration {
	return wholeWeb().WithLabels(map[string]string{"born": "ours"})
}

// ours makes the Deployment ours from birth.
func ours(w *world) { w.Merge("test", `{"metadata":{"labels":{"born":"ours"}}}`); w.Own(kubectl) }

// contestedOurs makes the Deployment ours from birth. hpa still owns the replicas.
func contestedOurs(w *world) { ours(w); w.Own(hpa, kubectl) }

// othersAppear has another client create the Deployment, without an owner of its replicas.
func othersAppear(w *world) { w.Web(kubectl) }

// TestBirth: what is ours from birth is created exclusively, and nobody else's object is
// written to, whenever it appears.
func TestBirth(t *testing.T) {
	intent := apply.Intent{Config: bornWeb(), Belongs: isBornOurs}
	mustExist := apply.Intent{Config: bornWeb(), Belongs: isBornOurs, MustExist: true}
	ofUID := apply.Intent{Config: bornWeb(), Belongs: isBornOurs, UID: "uid-0"}
	const phantom = ".spec.replicas to 3: owned by before-first-apply/Update with value 5"
	play(t, map[string]scene{
		"absent": {
			reason: "created with a version that no object has",
			intent: intent, happens: allOf(removed, notCached), sent: []string{exclusive}, action: apply.Created, attempts: 1,
		},
		"there": {
			reason: "pinned to what was judged",
			intent: intent, happens: allOf(ours, cachedNow), sent: []string{pinned}, action: apply.Configured, attempts: 1,
		},
		"somebody else makes it in between": {
			reason: "it is looked at, and left alone", intent: intent, policy: force,
			happens: allOf(removed, notCached, before(1, othersAppear)), sent: []string{exclusive, read}, err: apply.ErrNotOurs, attempts: 1,
		},
		"somebody else's, with fields that conflict": {
			reason: "the server tells the conflict first; a policy is not asked about an object that is not ours", intent: intent, policy: force,
			happens: allOf(removed, notCached, before(1, appears)), sent: []string{exclusive, read}, err: apply.ErrNotOurs, attempts: 1,
		},
		"ours, and the cache has not seen it": {
			reason: "as after a restart: adopted",
			intent: intent, happens: allOf(ours, notCached), sent: []string{exclusive, read, pinned}, action: apply.Configured, attempts: 2,
		},
		"ours by now, by a cache that is old": {
			reason: "the live object decides, not the cache",
			intent: intent, happens: allOf(cachedNow, ours), sent: []string{read, pinned}, action: apply.Configured, attempts: 1,
		},
		"before-first-apply owns the field": {
			reason: "the object is ours, so its field is forced, judged and pinned as any force", intent: intent,
			happens: allOf(ours, owned(), cachedNow), sent: []string{pinned, read, pinned, forces},
			action: apply.Configured, attempts: 3, conflicts: []string{"Force " + phantom},
		},
		"before-first-apply owns a field that a rule rejects": {
			reason: "a rule is more specific than that the object is ours", intent: intent,
			policy:  apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Reject),
			happens: allOf(ours, owned(), cachedNow), sent: []string{pinned, read}, err: apply.ErrConflict, attempts: 1, conflicts: []string{"Reject " + phantom},
		},
		"before-first-apply owns the field of an object that is not ours": {
			reason: "the policy is not asked", intent: intent,
			happens: allOf(ours, cachedNow, func(w *world) { w.Merge("test", `{"metadata":{"labels":null}}`) }, owned()),
			sent:    []string{pinned, read}, err: apply.ErrNotOurs, attempts: 1,
		},
		"somebody else's in the cache": {
			reason: "nothing is sent but a read", intent: intent, happens: cachedNow, sent: []string{read}, err: apply.ErrNotOurs,
		},
		"somebody else's in the cache, and gone": {
			reason: "created", intent: intent, happens: allOf(cachedNow, removed), sent: []string{read, exclusive}, action: apply.Created, attempts: 1,
		},
		"deleted meanwhile": {
			reason: "made anew, exclusively", intent: intent, happens: allOf(ours, cachedNow, removed),
			sent: []string{pinned, read, exclusive}, action: apply.Created, attempts: 2,
		},
		"deleted meanwhile, and somebody else makes one": {
			reason: "at each point it is only what we looked at that is written to", intent: intent,
			happens: allOf(ours, cachedNow, removed, before(3, othersAppear)), sent: []string{pinned, read, exclusive, read}, err: apply.ErrNotOurs, attempts: 2,
		},
		"replaced by somebody else's": {
			reason: "422", intent: intent, happens: allOf(ours, cachedNow, recreated(kubectl)),
			sent: []string{pinned, read}, err: apply.ErrNotOurs, attempts: 1,
		},
		"replaced by one of ours": {
			reason: "422", intent: intent, happens: allOf(ours, cachedNow, allOf(recreated(kubectl), ours)),
			sent: []string{pinned, read, pinned}, action: apply.Configured, attempts: 2,
		},
		"replaced between two looks": {
			reason: "looked at again", intent: intent, happens: allOf(ours, notCached, before(3, recreated(kubectl))),
			sent: []string{exclusive, read, pinned, read}, err: apply.ErrNotOurs, attempts: 2,
		},
		"a conflict of an object that is ours": {
			reason: "the policy decides it", intent: intent, policy: force, happens: allOf(contestedOurs, cachedNow),
			sent: []string{pinned, read, pinned, forces}, action: apply.Configured, attempts: 3, conflicts: []string{forcedReplicas},
		},
		"replaced before the force": {
			reason: "force is pinned to what was judged", intent: intent, policy: force,
			happens: allOf(contestedOurs, cachedNow, before(4, recreated(kubectl))), sent: []string{pinned, read, pinned, forces, read},
			err: apply.ErrNotOurs, attempts: 3, conflicts: []string{forcedReplicas},
		},
		"with a uid of the caller's": {
			reason: "nothing is created", intent: ofUID, happens: allOf(removed, notCached), sent: []string{read}, err: apply.ErrUIDMismatch,
		},
		"with a uid of the caller's, and an earlier object in the cache": {
			reason: "what was judged is not what is meant", intent: intent,
			happens: allOf(ours, cachedNow, recreated(kubectl), pinnedNow), sent: []string{read}, err: apply.ErrNotOurs,
		},
		"metadata alone was read": {
			reason: "it may not tell; the live object does", intent: intent,
			happens: allOf(ours, func(w *world) { w.intent.Read = metadataOf(w.Live()) }, notCached),
			sent:    []string{read, pinned}, action: apply.Configured, attempts: 1,
		},
		"must exist, and is somebody else's": {
			reason: "waited for, until it is the one that is meant", intent: mustExist, happens: cachedNow, sent: []string{read}, action: apply.Absent,
		},
		"must exist, and is ours": {
			reason: "as without Belongs", intent: mustExist, happens: allOf(ours, cachedNow), sent: []string{pinned}, action: apply.Configured, attempts: 1,
		},
		"must exist, and is made anew": {
			reason: "the intent meant the object in the cache", intent: mustExist,
			happens: allOf(ours, cachedNow, recreated(kubectl)), sent: []string{pinned}, err: apply.ErrUIDMismatch, attempts: 1,
		},
		"must exist, and the cache is broken": {
			reason: "that is not for Belongs to judge", intent: mustExist,
			happens: brokenCache(apierrors.NewBadRequest("the cache is broken")), err: apply.ErrRefused,
		},
		"nobody can look": {
			reason: "that says nothing of whose it is", intent: intent, policy: force,
			happens: allOf(alone, notCached, fails(2, unavailable), fails(4, unavailable), fails(6, unavailable)),
			sent:    []string{exclusive, read, exclusive, read, exclusive, read}, err: apply.ErrRetryable, attempts: 3,
		},
		"of a subresource": {
			reason: "there is nothing to create",
			intent: apply.Intent{Config: threeReplicas(), Belongs: isBornOurs, Subresource: "status"}, err: apply.ErrInvalidIntent,
		},
	})
}

// TestBirthOfOne: where the caller says which object is meant, no other takes its place.
func TestBirthOfOne(t *testing.T) {
	intent := apply.Intent{Config: bornWeb(), Belongs: isBornOurs}
	play(t, map[string]scene{
		"made anew": {
			reason: "nothing is looked at: another object is not meant", intent: intent,
			happens: allOf(ours, cachedNow, pinnedNow, recreated(kubectl)), sent: []string{pinned}, err: apply.ErrUIDMismatch, attempts: 1,
		},
		"somebody else's by now": {
			reason: "that it is another object comes first", intent: intent,
			happens: allOf(ours, pinnedNow, notCached, recreated(kubectl)), sent: []string{read}, err: apply.ErrUIDMismatch,
		},
		"made anew after the live read": {
			reason: "it was found, and is still the only one that is meant", intent: intent,
			happens: allOf(ours, pinnedNow, notCached, before(2, recreated(kubectl))), sent: []string{read, pinned}, err: apply.ErrUIDMismatch, attempts: 1,
		},
	})
}

// TestBirthOfNone: a dry run does not say which object is there now.
func TestBirthOfNone(t *testing.T) {
	w := newEmptyWorld(t)
	notCached(w)
	planner := w.applier(apply.Policy{})
	for range 2 {
		if _, err := planner.Plan(t.Context(), apply.Intent{Config: bornWeb(), Belongs: isBornOurs}); err != nil {
			t.Error(err)
		}
	}
	w.WantSent(read, "dry run, "+exclusive, read, "dry run, "+exclusive)
}

// TestBirthTwice: what the applier made a moment ago is not looked for, though the cache
// has not seen it.
func TestBirthTwice(t *testing.T) {
	w := newEmptyWorld(t)
	notCached(w)
	a := w.applier(apply.Policy{})
	before(3, removed)(w)
	for _, want := range []apply.Action{apply.Created, apply.Unchanged, apply.Created} {
		outcome, err := a.Apply(t.Context(), apply.Intent{Config: bornWeb(), Belongs: isBornOurs})
		if err != nil || outcome.Action != want {
			t.Errorf("%v, %v; want %v", outcome.Action, err, want)
		}
	}
	w.WantSent(exclusive, pinned, pinned, read, exclusive)
}

// TestBirthIsNoMemoryOfOthers: that something else was applied to an object, such as to a
// subresource of it, does not make it ours.
func TestBirthIsNoMemoryOfOthers(t *testing.T) {
	w := newWorld(t, kubectl)
	notCached(w)
	a := w.applier(apply.Policy{})
	if _, err := a.Apply(t.Context(), apply.Intent{Config: statusOf(1), Subresource: "status"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Apply(t.Context(), apply.Intent{Config: bornWeb(), Belongs: isBornOurs}); !errors.Is(err, apply.ErrNotOurs) {
		t.Errorf("error %v", err)
	}
	w.WantSent("PATCH /status", exclusive, read)
}

// TestBirthLongAgo: what the cache does not have by now is gone.
func TestBirthLongAgo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEmptyWorld(t)
		notCached(w)
		a := w.applier(apply.Policy{})
		for range 2 {
			if _, err := a.Apply(t.Context(), apply.Intent{Config: bornWeb(), Belongs: isBornOurs}); err != nil {
				t.Error(err)
			}
			w.Remove()
			time.Sleep(time.Minute)
		}
		w.WantSent(exclusive, exclusive)
	})
}

func metadataOf(object *appsv1.Deployment) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: object.TypeMeta, ObjectMeta: object.ObjectMeta}
}

func TestNotOursNamesTheOwner(t *testing.T) {
	w := newWorld(t, kubectl)
	notCached(w)
	web := w.Live()
	web.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Shop", Name: "corner", UID: "uid-corner", Controller: new(true)}}
	w.Must(w.Update(t.Context(), web))
	_, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: bornWeb(), Belongs: isBornOurs})
	taken := (*apply.NotOursError)(nil)
	if !errors.As(err, &taken) || taken.Object.UID != web.UID || !errors.Is(err, apply.ErrRefused) || apply.ResultOf(err) != "Refused" {
		t.Fatalf("error %#v", err)
	}
	if !strings.Contains(err.Error(), "the apply of Deployment shop/web was refused: an object with this name already exists and belongs to someone else, controlled by the Shop corner") {
		t.Error(err)
	}
}

// TestBelongsIsGivenTheGoType, though the live read is unstructured.
func TestBelongsIsGivenTheGoType(t *testing.T) {
	w := newWorld(t)
	allOf(ours, notCached)(w)
	belongs := func(object client.Object) bool {
		_, typed := object.(*appsv1.Deployment)
		return typed && isBornOurs(object)
	}
	if _, err := w.applier(force).Apply(t.Context(), apply.Intent{Config: bornWeb(), Belongs: belongs}); err != nil {
		t.Error(err)
	}
	w.WantSent(exclusive, read, pinned)
}

// TestBirthOfAnUnknownKind: Belongs gets it as it is, where the client has no Go type.
func TestBirthOfAnUnknownKind(t *testing.T) {
	gadget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gadget",
		"metadata": map[string]any{"namespace": "shop", "name": "web", "uid": "uid-1", "resourceVersion": "7", "labels": map[string]any{"born": "ours"}},
	}}
	asked := 0
	belongs := func(object client.Object) bool {
		asked++
		_, raw := object.(*unstructured.Unstructured)
		return raw && isBornOurs(object) && object.GetUID() == "uid-1"
	}
	if !apply.Belongs(belongs, gadget, func() client.Object { return &unstructured.Unstructured{} }) || asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	web := memory.NewWeb()
	web.Labels = map[string]string{"born": "ours"}
	metadata := metadataOf(web)
	if apply.Belongs(isBornOurs, metadata, func() client.Object { return &appsv1.Deployment{} }) {
		t.Error("of metadata alone")
	}
}
