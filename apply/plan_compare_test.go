package apply_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
)

// TestPlanTellsAll: what we take, gain, share and drop, and what others gain and lose.
func TestPlanTellsAll(t *testing.T) {
	before, after := web("uid-1", "7"), web("uid-1", "7")
	before.Labels, before.Annotations = map[string]string{"a": "1", "z": "1"}, map[string]string{"k": "1"}
	before.Spec.MinReadySeconds, before.Spec.RevisionHistoryLimit = 5, new(int32(4))
	before.ManagedFields = append(before.ManagedFields,
		entry(manager, "Apply", "", `{"f:metadata":{"f:annotations":{"f:k":{}}},"f:spec":{"f:minReadySeconds":{},"f:revisionHistoryLimit":{}}}`),
		entry("other", "Apply", "", `{"f:metadata":{"f:labels":{"f:a":{},"f:z":{}}},"f:spec":{"f:replicas":{},"f:revisionHistoryLimit":{}}}`),
		entry("third", "Apply", "", `{"f:spec":{"f:progressDeadlineSeconds":{}}}`),
	)
	after.Labels, after.Annotations = before.Labels, before.Annotations
	after.Spec.Replicas, after.Spec.RevisionHistoryLimit = new(int32(3)), new(int32(4))
	after.ManagedFields = []metav1.ManagedFieldsEntry{
		entry("kubectl", "Apply", "", `{"f:spec":{"f:paused":{}}}`),
		entry(manager, "Apply", "", `{"f:metadata":{"f:labels":{"f:a":{},"f:z":{}}},"f:spec":{"f:replicas":{},"f:paused":{}}}`),
		entry("other", "Apply", "", `{"f:metadata":{"f:labels":{"f:a":{},"f:z":{}}},"f:spec":{"f:replicas":{},"f:revisionHistoryLimit":{}}}`),
		entry("fourth", "Apply", "", `{"f:metadata":{"f:annotations":{"f:k":{}}},"f:spec":{"f:strategy":{}}}`),
	}
	s := newScript(t, []step{{"GET", ok(before)}, {"PATCH", ok(after)}})
	config := replicasAndPause().WithLabels(map[string]string{"a": "1", "z": "1"})
	plan, err := s.planner(apply.Config{}, true).Plan(t.Context(), apply.Intent{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	const want = `Deployment shop/web: would be configured by coapply-test
changes:
  .spec.minReadySeconds: removed 5
  .spec.replicas: 5 -> 3
taken:
  .spec.replicas: hpa/Update[scale] -> coapply-test/Apply
shared:
  .metadata.labels.a of other/Apply
  .metadata.labels.z of other/Apply
  .spec.paused of kubectl/Apply
  .spec.replicas of other/Apply
gained:
  .metadata.labels.a
  .metadata.labels.z
  .spec.paused
dropped:
  .spec.minReadySeconds: removed, with its value 5
  .spec.revisionHistoryLimit: stays, owned by other/Apply
lost by other managers:
  .spec.progressDeadlineSeconds of third/Apply
gained by other managers:
  .spec.strategy of fourth/Apply
`
	if diff := cmp.Diff(want, plan.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPlanOfOwners: who owns is a change, when they wrote is not.
func TestPlanOfOwners(t *testing.T) {
	later, another, gone := ownedWith("uid-1", "7", 3), ownedWith("uid-1", "7", 3), ownedWith("uid-1", "7", 3)
	later.ManagedFields[1].Time = new(metav1.NewTime(time.Unix(1, 0)))
	another.ManagedFields[1].Manager = manager + "-2" // in the same order
	gone.Labels = map[string]string{"a": "1"}
	s := newScript(t, []step{{"GET", ok(ownedWith("uid-1", "1", 3))}, {"PATCH", ok(ownedWith("uid-1", "1", 3))}})
	plan, err := s.planner(apply.Config{}, true).Plan(t.Context(), apply.Intent{Config: threeReplicas()})
	if err != nil || plan.Action != apply.Unchanged {
		t.Errorf("at version 1, as of controller-runtime's fake client: %v, %v", plan.Action, err)
	}
	for reason, test := range map[string]struct {
		after *appsv1.Deployment
		want  apply.Action
	}{
		"later":         {later, apply.Unchanged},
		"another owner": {another, apply.Configured},
		"a label":       {gone, apply.Configured},
	} {
		s := newScript(t, []step{{"GET", ok(ownedWith("uid-1", "7", 3))}, {"PATCH", ok(test.after)}})
		plan, err := s.planner(apply.Config{}, true).Plan(t.Context(), apply.Intent{Config: threeReplicas()})
		if err != nil || plan.Action != test.want {
			t.Errorf("%s: %v, %v; want %v", reason, plan.Action, err, test.want)
		}
	}
}

// TestPlanOfASecret has no values.
func TestPlanOfASecret(t *testing.T) {
	before, after := secret(), secret()
	before.ManagedFields = append(before.ManagedFields, entry(manager, "Apply", "", `{"f:data":{"f:user":{}}}`))
	before.Data["user"], before.Data["token"] = []byte("me"), []byte("t0")
	after.Data["fresh"] = []byte("new")
	after.Data["password"] = []byte(ourPassword)
	after.ManagedFields = append(after.ManagedFields, entry(manager, "Apply", "", `{"f:data":{"f:password":{}}}`))
	s := newScript(t, []step{{"GET", ok(before)}, {"PATCH", ok(after)}})
	config := corev1ac.Secret("web", "shop").WithData(map[string][]byte{"password": []byte(ourPassword)})
	plan, err := s.planner(apply.Config{}, true).Plan(t.Context(), apply.Intent{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	const want = `Secret shop/web: would be configured by coapply-test
changes:
  .data.fresh: added (hidden)
  .data.password: (hidden) -> (hidden)
  .data.token: removed (hidden)
  .data.user: removed (hidden)
shared:
  .data.password of vault/Update
gained:
  .data.password
dropped:
  .data.user: removed, with its value (hidden)
`
	if diff := cmp.Diff(want, plan.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPlanOfASecretTellsWhatExists: a value that is not there is not hidden.
func TestPlanOfASecretTellsWhatExists(t *testing.T) {
	before, after := secret(), secret()
	after.Data = map[string][]byte{"fresh": []byte("new")}
	s := newScript(t, []step{{"GET", ok(before)}, {"PATCH", ok(after)}})
	config := corev1ac.Secret("web", "shop").WithData(map[string][]byte{"fresh": []byte("new")})
	plan, err := s.planner(apply.Config{}, true).Plan(t.Context(), apply.Intent{Config: config})
	if err != nil || len(plan.Changes) != 2 || plan.Changes[0].Before != nil || plan.Changes[1].After != nil {
		t.Errorf("%+v, %v", plan.Changes, err)
	}
}

// TestPlanWithoutAnObject: what an apply to a subresource would not find, and what it would
// give up too much of.
func TestPlanWithoutAnObject(t *testing.T) {
	status := appsv1ac.Deployment("web", "shop").WithStatus(appsv1ac.DeploymentStatus().WithReplicas(1))
	s := newScript(t, []step{{"GET", notFound()}, {"PATCH", at("/status", notFound())}, {"GET", notFound()}})
	plan, err := s.planner(apply.Config{}, true).Plan(t.Context(), apply.Intent{Config: status, Subresource: "status"})
	if err != nil || plan.Action != apply.Absent || plan.Object.UID != "" {
		t.Errorf("%+v, %v; want none to apply to", plan, err)
	}
}
