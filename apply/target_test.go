package apply_test

import (
	"errors"
	"slices"
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
)

func isBornOurs(object client.Object) bool { return object.GetLabels()["born"] == "ours" }

func bornOurs(uid, version string) *appsv1.Deployment {
	object := web(uid, version)
	object.Labels = map[string]string{"born": "ours"}
	return object
}

// TestBirth: what is ours from birth is created exclusively, and nobody else's object is
// written to, whenever it appears.
func TestBirth(t *testing.T) {
	intent := apply.Intent{Config: threeReplicas(), Belongs: isBornOurs}
	pinned := threeReplicas()
	pinned.WithUID("uid-0")
	const exclusively = "PATCH resourceVersion=1"
	run(t, map[string]testCase{
		"absent": {
			reason: "created with a version that no object has",
			intent: intent, cache: cache{}, steps: []step{{exclusively, created(bornOurs("uid-1", "7"))}},
			action: apply.Created, attempts: 1,
		},
		"there": {
			reason: "pinned to what was judged",
			intent: intent, cache: cache{object: bornOurs("uid-1", "7")}, steps: []step{{"PATCH uid=uid-1", ok(bornOurs("uid-1", "8"))}},
			action: apply.Configured, attempts: 1,
		},
		"somebody else makes it in between": {
			reason: "it is looked at, and left alone",
			intent: intent, cache: cache{}, policy: force,
			steps: []step{{exclusively, stale()}, {"GET", ok(web("uid-2", "7"))}},
			err:   apply.ErrNotOurs, attempts: 1,
		},
		"somebody else's, with fields that conflict": {
			reason: "the server tells the conflict first; a policy is not asked about an object that is not ours",
			intent: intent, cache: cache{}, policy: force,
			steps: []step{{exclusively, conflict(hpaReplicas)}, {"GET", ok(web("uid-2", "7"))}},
			err:   apply.ErrNotOurs, attempts: 1,
		},
		"ours, and the cache has not seen it": {
			reason: "as after a restart: adopted",
			intent: intent, cache: cache{},
			steps:  []step{{exclusively, stale()}, {"GET", ok(bornOurs("uid-1", "7"))}, {"PATCH uid=uid-1", ok(bornOurs("uid-1", "7"))}},
			action: apply.Configured, attempts: 2,
		},
		"ours by now, by a cache that is old": {
			reason: "the live object decides, not the cache",
			intent: intent, cache: cache{object: web("uid-0", "5")},
			steps:  []step{{"GET", ok(bornOurs("uid-1", "7"))}, {"PATCH uid=uid-1", ok(bornOurs("uid-1", "8"))}},
			action: apply.Configured, attempts: 1,
		},
		"before-first-apply owns the field": {
			reason: "the object is ours, so its field is forced, judged and pinned as any force",
			intent: intent, cache: cache{object: bornOurs("uid-1", "7")},
			steps: []step{
				{"PATCH uid=uid-1", conflict(phantomReplicas)}, {"GET", ok(bornOurs("uid-1", "7"))},
				{"PATCH uid=uid-1", conflict(phantomReplicas)}, {"PATCH uid=uid-1 resourceVersion=7 force", ok(bornOurs("uid-1", "8"))},
			},
			action: apply.Configured, attempts: 3,
			conflicts: []string{"Force .spec.replicas to 3: owned by before-first-apply/Update with 5"},
		},
		"before-first-apply owns a field that a rule rejects": {
			reason: "a rule is more specific than that the object is ours",
			intent: intent, cache: cache{object: bornOurs("uid-1", "7")},
			policy: apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Reject),
			steps:  []step{{"PATCH uid=uid-1", conflict(phantomReplicas)}, {"GET", ok(bornOurs("uid-1", "7"))}},
			err:    apply.ErrConflict, attempts: 1,
			conflicts: []string{"Reject .spec.replicas to 3: owned by before-first-apply/Update with 5"},
		},
		"before-first-apply owns the field of an object that is not ours": {
			reason: "the policy is not asked",
			intent: intent, cache: cache{object: bornOurs("uid-1", "7")},
			steps: []step{{"PATCH uid=uid-1", conflict(phantomReplicas)}, {"GET", ok(web("uid-1", "8"))}},
			err:   apply.ErrNotOurs, attempts: 1,
		},
		"somebody else's in the cache": {
			reason: "nothing is sent but a read",
			intent: intent, cache: cache{object: web("uid-2", "7")}, steps: []step{{"GET", ok(web("uid-2", "7"))}},
			err: apply.ErrNotOurs,
		},
		"somebody else's in the cache, and gone": {
			reason: "created",
			intent: intent, cache: cache{object: web("uid-2", "7")}, steps: []step{{"GET", notFound()}, {exclusively, created(bornOurs("uid-3", "9"))}},
			action: apply.Created, attempts: 1,
		},
		"deleted meanwhile": {
			reason: "made anew, exclusively",
			intent: intent, cache: cache{object: bornOurs("uid-1", "7")},
			steps:  []step{{"PATCH uid=uid-1", stale()}, {"GET", notFound()}, {exclusively, created(bornOurs("uid-2", "9"))}},
			action: apply.Created, attempts: 2,
		},
		"deleted meanwhile, and somebody else makes one": {
			reason: "at each point it is only what we looked at that is written to",
			intent: intent, cache: cache{object: bornOurs("uid-1", "7")},
			steps: []step{
				{"PATCH uid=uid-1", stale()}, {"GET", notFound()}, {exclusively, stale()}, {"GET", ok(web("uid-2", "9"))},
			},
			err: apply.ErrNotOurs, attempts: 2,
		},
		"replaced by somebody else's": {
			reason: "422", intent: intent, cache: cache{object: bornOurs("uid-1", "7")},
			steps: []step{{"PATCH uid=uid-1", otherUID()}, {"GET", ok(web("uid-2", "9"))}},
			err:   apply.ErrNotOurs, attempts: 1,
		},
		"replaced by one of ours": {
			reason: "422", intent: intent, cache: cache{object: bornOurs("uid-1", "7")},
			steps:  []step{{"PATCH uid=uid-1", otherUID()}, {"GET", ok(bornOurs("uid-2", "9"))}, {"PATCH uid=uid-2", ok(bornOurs("uid-2", "9"))}},
			action: apply.Configured, attempts: 2,
		},
		"replaced between two looks": {
			reason: "looked at again",
			intent: intent, cache: cache{},
			steps: []step{
				{exclusively, stale()}, {"GET", ok(bornOurs("uid-1", "7"))}, {"PATCH uid=uid-1", otherUID()},
				{"GET", ok(web("uid-2", "9"))},
			},
			err: apply.ErrNotOurs, attempts: 2,
		},
		"a conflict of an object that is ours": {
			reason: "the policy decides it",
			intent: intent, cache: cache{object: bornOurs("uid-1", "7")}, policy: force,
			steps: []step{
				{"PATCH uid=uid-1", conflict(hpaReplicas)}, {"GET", ok(bornOurs("uid-1", "9"))},
				{"PATCH uid=uid-1", conflict(hpaReplicas)}, {"PATCH uid=uid-1 resourceVersion=9 force", ok(bornOurs("uid-1", "10"))},
			},
			action: apply.Configured, attempts: 3, conflicts: []string{forcedReplicas},
		},
		"replaced before the force": {
			reason: "force is pinned to what was judged",
			intent: intent, cache: cache{object: bornOurs("uid-1", "7")}, policy: force,
			steps: []step{
				{"PATCH uid=uid-1", conflict(hpaReplicas)}, {"GET", ok(bornOurs("uid-1", "9"))},
				{"PATCH uid=uid-1", conflict(hpaReplicas)}, {"PATCH uid=uid-1 resourceVersion=9 force", otherUID()},
				{"GET", ok(web("uid-2", "11"))},
			},
			err: apply.ErrNotOurs, attempts: 3, conflicts: []string{forcedReplicas},
		},
		"with a uid of the caller's": {
			reason: "nothing is created",
			intent: apply.Intent{Config: pinned, Belongs: isBornOurs}, cache: cache{}, steps: []step{{"GET", notFound()}},
			err: apply.ErrUIDMismatch,
		},
		"with a uid of the caller's, and an earlier object in the cache": {
			reason: "what was judged is not what is meant",
			intent: apply.Intent{Config: pinned, Belongs: isBornOurs}, cache: cache{object: bornOurs("uid-1", "7")},
			steps: []step{{"GET", ok(web("uid-0", "9"))}}, err: apply.ErrNotOurs,
		},
		"metadata alone was read": {
			reason: "it may not tell; the live object does",
			intent: apply.Intent{Config: threeReplicas(), Belongs: isBornOurs, Read: metadataOf(bornOurs("uid-1", "7"))}, cache: cache{},
			steps:  []step{{exclusively, stale()}, {"GET", ok(bornOurs("uid-1", "7"))}, {"PATCH uid=uid-1", ok(bornOurs("uid-1", "8"))}},
			action: apply.Configured, attempts: 2,
		},
		"must exist, and is somebody else's": {
			reason: "waited for, until it is the one that is meant",
			intent: apply.Intent{Config: threeReplicas(), Belongs: isBornOurs, MustExist: true}, cache: cache{object: web("uid-2", "7")},
			action: apply.Absent,
		},
		"must exist, and is ours": {
			reason: "as without Belongs",
			intent: apply.Intent{Config: threeReplicas(), Belongs: isBornOurs, MustExist: true}, cache: cache{object: bornOurs("uid-1", "7")},
			steps:  []step{{"PATCH uid=uid-1", ok(bornOurs("uid-1", "7"))}},
			action: apply.Unchanged, attempts: 1,
		},
		"nobody can look": {
			reason: "that says nothing of whose it is",
			intent: intent, cache: cache{}, policy: force,
			steps: slices.Repeat([]step{{exclusively, stale()}, {"GET", fail(apierrors.NewServiceUnavailable("no leader"))}}, 3),
			err:   apply.ErrRetryable, attempts: 3,
		},
		"of a subresource": {
			reason: "there is nothing to create",
			intent: apply.Intent{Config: threeReplicas(), Belongs: isBornOurs, Subresource: "status"}, err: apply.ErrInvalidIntent,
		},
	})
}

// TestBirthTwice: what the applier made a moment ago is not looked for, though the cache
// has not seen it.
func TestBirthTwice(t *testing.T) {
	s := newScript(t, []step{
		{"PATCH resourceVersion=1", created(bornOurs("uid-1", "7"))}, {"PATCH uid=uid-1", ok(bornOurs("uid-1", "7"))},
		{"PATCH uid=uid-1", stale()}, {"GET", notFound()}, {"PATCH resourceVersion=1", created(bornOurs("uid-2", "9"))},
	})
	a := s.applier(apply.Policy{}, cache{})
	for _, want := range []apply.Action{apply.Created, apply.Unchanged, apply.Created} {
		outcome, err := a.Apply(t.Context(), apply.Intent{Config: threeReplicas(), Belongs: isBornOurs})
		if err != nil || outcome.Action != want {
			t.Errorf("%v, %v; want %v", outcome.Action, err, want)
		}
	}
}

// TestBirthIsNoMemoryOfOthers: that something else was applied to an object, such as to a
// subresource of it, does not make it ours.
func TestBirthIsNoMemoryOfOthers(t *testing.T) {
	s := newScript(t, []step{
		{"PATCH", at("/status", ok(web("uid-2", "7")))},
		{"PATCH resourceVersion=1", stale()}, {"GET", ok(web("uid-2", "7"))},
	})
	a := s.applier(apply.Policy{}, cache{})
	status := appsv1ac.Deployment("web", "shop").WithStatus(appsv1ac.DeploymentStatus().WithReplicas(1))
	if _, err := a.Apply(t.Context(), apply.Intent{Config: status, Subresource: "status"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Apply(t.Context(), apply.Intent{Config: threeReplicas(), Belongs: isBornOurs}); !errors.Is(err, apply.ErrNotOurs) {
		t.Errorf("error %v", err)
	}
}

// TestBirthLongAgo: what the cache does not have by now is gone.
func TestBirthLongAgo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, []step{
			{"PATCH resourceVersion=1", created(bornOurs("uid-1", "7"))}, {"PATCH resourceVersion=1", created(bornOurs("uid-2", "9"))},
		})
		a := s.applier(apply.Policy{}, cache{})
		for range 2 {
			if _, err := a.Apply(t.Context(), apply.Intent{Config: threeReplicas(), Belongs: isBornOurs}); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
		}
	})
}

func metadataOf(object *appsv1.Deployment) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: object.TypeMeta, ObjectMeta: object.ObjectMeta}
}

func TestNotOursNamesTheOwner(t *testing.T) {
	theirs := web("uid-2", "7")
	theirs.OwnerReferences = []metav1.OwnerReference{{Kind: "Shop", Name: "corner", Controller: new(true)}}
	s := newScript(t, []step{{"PATCH resourceVersion=1", stale()}, {"GET", ok(theirs)}})
	_, err := s.applier(apply.Policy{}, cache{}).Apply(t.Context(), apply.Intent{Config: threeReplicas(), Belongs: isBornOurs})
	taken := (*apply.NotOursError)(nil)
	if !errors.As(err, &taken) || taken.Object.UID != "uid-2" || !errors.Is(err, apply.ErrRefused) || apply.ResultOf(err) != "Refused" {
		t.Fatalf("error %#v", err)
	}
	if !strings.Contains(err.Error(), "Deployment shop/web is refused: an object with this name already exists and is someone else's, controlled by the Shop corner") {
		t.Error(err)
	}
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
	metadata := metadataOf(bornOurs("uid-1", "7"))
	if apply.Belongs(isBornOurs, metadata, func() client.Object { return &appsv1.Deployment{} }) {
		t.Error("of metadata alone")
	}
}
