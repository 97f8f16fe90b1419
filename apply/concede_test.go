package apply_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

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

	relinquishedReplicas = "Relinquish .spec.replicas to 3: owned by hpa/Update[scale] with 5"
	sharedReplicas       = "Share .spec.replicas to 3: owned by hpa/Update[scale] with 5"
	forcedPause          = "Force .spec.paused to false: owned by kubectl/Apply with true"
)

func TestConcede(t *testing.T) {
	run(t, map[string]testCase{
		"relinquish": {
			reason: "the field is left out, pinned to the object that it was conceded to",
			policy: relinquish,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH uid=uid-1", ok(web("uid-1", "8"))},
			},
			attempts: 2, action: apply.Configured, conflicts: []string{relinquishedReplicas},
		},
		"share": {
			reason: "the live value is adopted",
			policy: share,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH uid=uid-1", ok(web("uid-1", "8"))},
			},
			attempts: 2, action: apply.Configured, conflicts: []string{sharedReplicas},
		},
		"a shared value moves on": {
			reason: "it is read again: nobody's value but the live one is adopted",
			policy: share,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH uid=uid-1", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "8"))},
				{"PATCH uid=uid-1", ok(web("uid-1", "9"))},
			},
			attempts: 3, action: apply.Configured, conflicts: []string{sharedReplicas},
		},
		"a shared value moves on, and owners are not shown": {
			reason: "it is the live value that is adopted, then, too",
			policy: share,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH uid=uid-1", conflict(hpaReplicas)}, {"GET", ok(ownersHidden(web("uid-1", "8")))},
				{"PATCH", conflict(hpaReplicas)}, {"PATCH uid=uid-1", ok(web("uid-1", "9"))},
			},
			attempts: 4, action: apply.Configured, conflicts: []string{sharedReplicas},
		},
		"force the one and relinquish the other": {
			reason: "what is left is judged before it is forced",
			policy: relinquish.At(".spec.paused", apply.Force),
			intent: apply.Intent{Config: replicasAndPause()},
			steps: []step{
				{"PATCH", conflict(hpaReplicas, kubectlPause)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH uid=uid-1", conflict(kubectlPause)},
				{"PATCH uid=uid-1 resourceVersion=7 force", ok(web("uid-1", "8"))},
			},
			attempts: 3, action: apply.Configured, conflicts: []string{forcedPause, relinquishedReplicas},
		},
		"contested meanwhile": {
			reason: "a field that becomes contested between two applies is conceded too, and then all is judged again",
			policy: relinquish.At(".spec.paused", apply.Force),
			intent: apply.Intent{Config: replicasAndPause()},
			steps: []step{
				{"PATCH", conflict(kubectlPause)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH uid=uid-1", conflict(kubectlPause)},
				{"PATCH uid=uid-1 resourceVersion=7 force", ok(web("uid-1", "8"))},
			},
			attempts: 3, action: apply.Configured, conflicts: []string{forcedPause, relinquishedReplicas},
		},
		"one of two is rejected": {
			reason:   "then nothing lands",
			policy:   relinquish.At(".spec.paused", apply.Reject),
			intent:   apply.Intent{Config: replicasAndPause()},
			steps:    []step{{"PATCH", conflict(hpaReplicas, kubectlPause)}, {"GET", ok(web("uid-1", "7"))}},
			attempts: 1, err: apply.ErrConflict,
			conflicts: []string{"Reject .spec.paused to false: owned by kubectl/Apply with true", relinquishedReplicas},
		},
		"recreated meanwhile": {
			reason: "what was conceded to the earlier object is not conceded to the new one",
			policy: relinquish,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH uid=uid-1", otherUID()}, {"GET", ok(web("uid-2", "1"))},
				{"PATCH uid=uid-2", ok(web("uid-2", "2"))},
			},
			attempts: 3, action: apply.Configured, conflicts: []string{relinquishedReplicas},
		},
		"deleted meanwhile": {
			reason: "the whole intent creates it again, not what was left of it",
			policy: relinquish,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH uid=uid-1", stale()}, {"GET", notFound()},
				{"PATCH", created(web("uid-2", "1"))},
			},
			attempts: 3, action: apply.Created,
		},
		"deleted meanwhile, and it must exist": {
			reason: "then it is waited for",
			policy: relinquish,
			intent: apply.Intent{Config: threeReplicas(), MustExist: true},
			cache:  cache{object: web("uid-1", "6")},
			steps: []step{
				{"PATCH uid=uid-1 resourceVersion=6", stale()}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH uid=uid-1", stale()}, {"GET", notFound()},
			},
			attempts: 2, action: apply.Absent,
		},
		"no decision": {
			reason: "a function that gives what is no decision is a mistake to be told",
			policy: relinquish.Func(func(apply.Conflict) (apply.Decision, bool) { return 42, true }),
			steps:  []step{{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))}}, attempts: 1, err: apply.ErrRefused,
		},
		"owners that the object does not show": {
			reason: "the whole intent is sent again, and gives way when it is refused again",
			policy: relinquish,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(ofOthers("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas)}, {"PATCH uid=uid-1", ok(ofOthers("uid-1", "8"))},
			},
			attempts: 3, action: apply.Configured,
			conflicts: []string{"Relinquish .spec.replicas to 3: owned by hpa/Update[scale] with null"},
		},
		"what is left is refused": {
			reason: "a refusal is no stale write, though the apply is pinned",
			policy: relinquish,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH uid=uid-1", fail(apierrors.NewForbidden(deployments, "web", nil))},
			},
			attempts: 2, err: apply.ErrRefused,
			conflicts: []string{relinquishedReplicas},
		},
		"what is left of an item is refused": {
			reason: "nor is it where the resourceVersion is pinned",
			policy: relinquish, intent: sideIntent(false),
			steps: []step{
				{"PATCH", conflict(sideImage)}, {"GET", ok(sideCar("7", wholeItem, itemOfOur))},
				{"PATCH uid=uid-1 resourceVersion=7", fail(apierrors.NewForbidden(deployments, "web", nil))},
			},
			attempts: 2, err: apply.ErrRefused,
			conflicts: []string{`Relinquish .spec.template.spec.containers[name="side"].image to "ours": owned by kubectl/Apply with "theirs"`},
		},
		"a value that is not there": {
			reason: "hpa owns the field and the object has no value: there is none to adopt",
			policy: share,
			steps: []step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(withReplicas(nil, web("uid-1", "7")))},
				{"PATCH uid=uid-1", ok(web("uid-1", "8"))},
			},
			attempts: 2, action: apply.Configured,
			conflicts: []string{"Share .spec.replicas to 3: owned by hpa/Update[scale] with null"},
		},
	})
}

func ownersHidden(deployment *appsv1.Deployment) *appsv1.Deployment {
	deployment.ManagedFields = nil
	return deployment
}

func withReplicas(replicas *int32, deployment *appsv1.Deployment) *appsv1.Deployment {
	deployment.Spec.Replicas = replicas
	return deployment
}

// TestWhatIsSentOfAnIntent looks at the bodies: each decision has its own.
func TestWhatIsSentOfAnIntent(t *testing.T) {
	const named = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"uid-1"}`
	for name, c := range map[string]struct {
		policy apply.Policy
		want   string
	}{
		"relinquish both":             {relinquish, named + `}`},
		"relinquish one, share other": {relinquish.At(".spec.paused", apply.Share), named + `,"spec":{"paused":true}}`},
		"share both":                  {share, named + `,"spec":{"paused":true,"replicas":5}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, []step{
				{"PATCH", conflict(hpaReplicas, kubectlPause)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH uid=uid-1", ok(web("uid-1", "8"))},
			})
			config := replicasAndPause()
			if _, err := s.applier(c.policy, nil).Apply(t.Context(), apply.Intent{Config: config}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, canonical(t, s.bodies[1])); diff != "" {
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
	synctest.Test(t, func(t *testing.T) {
		steps := []step{{"PATCH", conflict(hpaReplicas)}}
		for range 8 {
			steps = append(steps, step{"GET", ok(web("uid-1", "7"))}, step{"PATCH uid=uid-1", conflict(hpaReplicas)})
		}
		testCase{
			reason: "the value moves on under every try", policy: share, steps: steps,
			attempts: 9, err: apply.ErrContended, conflicts: []string{sharedReplicas},
		}.run(t)
	})
}
