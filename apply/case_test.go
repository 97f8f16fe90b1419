package apply_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// testCase is one Apply of three replicas against a script.
type testCase struct {
	reason string
	policy apply.Policy
	intent apply.Intent // three replicas of the deployment, unless given
	cache  client.Reader
	steps  []step

	action    apply.Action
	err       error // a sentinel; nil for success
	attempts  int
	conflicts []string // the decision and Conflict.String of each
}

var (
	force          = apply.OnConflict(apply.Force)
	forcesReplicas = apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Force)

	forcedReplicas = "Force .spec.replicas to 3: owned by hpa/Update[scale] with 5"
	rejectReplicas = "Reject .spec.replicas to 3: owned by hpa/Update[scale] with 5"
)

func threeReplicas() *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3))
}

// run runs each case in a bubble whose clock stands still unless someone waits.
func run(t *testing.T, cases map[string]testCase) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { synctest.Test(t, c.run) })
	}
}

func (c testCase) run(t *testing.T) {
	t.Log(c.reason)
	if c.intent.Config == nil {
		c.intent.Config = threeReplicas()
	}
	s := newScript(t, c.steps)
	outcome, err := s.applier(c.policy, c.cache).Apply(t.Context(), c.intent)
	if !errors.Is(err, c.err) || c.err == nil && err != nil {
		t.Errorf("error %v, want %v", err, c.err)
	}
	got := []any{outcome.Action, outcome.Requests, outcome.Attempts, texts(outcome.Conflicts)}
	want := []any{c.action, len(c.steps), c.attempts, c.conflicts}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("action, requests, attempts, conflicts (-want +got):\n%s", diff)
	}
	checkConflictError(t, err, outcome)
}

// checkConflictError holds that the error has what the outcome has.
func checkConflictError(t *testing.T, err error, outcome apply.Outcome) {
	conflict := (*apply.ConflictError)(nil)
	if !errors.As(err, &conflict) {
		return
	}
	if diff := cmp.Diff(texts(outcome.Conflicts), texts(conflict.Conflicts)); diff != "" {
		t.Errorf("conflicts of the outcome and of the error (-outcome +error):\n%s", diff)
	}
	if !apply.IsOwnershipConflict(err) || apply.IsStaleWrite(err) || conflict.FieldManager != manager {
		t.Errorf("not a conflict of ours: %#v", conflict)
	}
}

func texts(conflicts []apply.Conflict) (all []string) {
	for _, c := range conflicts {
		all = append(all, fmt.Sprintf("%v %v", c.Decision, c))
	}
	return all
}

// cache is an informer cache that holds one deployment, or fails.
type cache struct {
	client.Reader

	object *appsv1.Deployment
	err    error
}

func (c cache) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if c.err != nil {
		return c.err
	}
	if c.object == nil || key != client.ObjectKeyFromObject(c.object) {
		return apierrors.NewNotFound(deployments, key.Name)
	}
	c.object.DeepCopyInto(into.(*appsv1.Deployment))
	return nil
}
