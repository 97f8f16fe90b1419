package applytest_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/fieldowners"
)

// TestAnswersThatNoServerGives makes one call, to which a fault is due.
func TestAnswersThatNoServerGives(t *testing.T) {
	replicas := func(manager string, subresource string) applytest.Answer {
		return applytest.OwnershipConflict(fieldowners.Manager{Name: manager, Subresource: subresource}, ".spec.replicas")
	}
	uid := types.UID("uid-1")
	for reason, tc := range map[string]struct {
		answer applytest.Answer
		call   func(client.Client) error
		want   string // none: the answer is given
	}{
		"nothing to compare": {applytest.UIDChanged(), func(c client.Client) error { return c.Apply(t.Context(), threeReplicas(), owner) }, "it carries no uid; an Applier"},
		"nor gone":           {applytest.UIDGone(), func(c client.Client) error { return c.Apply(t.Context(), threeReplicas(), owner) }, "carries no uid"},
		"pinned":             {applytest.UIDGone(), func(c client.Client) error { return c.Apply(t.Context(), pinnedReplicas(), owner) }, ""},
		"update of no uid":   {applytest.UIDChanged(), func(c client.Client) error { return c.Update(t.Context(), withoutUID()) }, "carries no uid"},
		"update":             {applytest.UIDChanged(), func(c client.Client) error { return c.Update(t.Context(), web()) }, ""},
		"unknown patch":      {applytest.UIDChanged(), func(c client.Client) error { return c.Patch(t.Context(), withoutUID(), merge) }, ""},
		"deletes any":        {applytest.UIDChanged(), func(c client.Client) error { return c.Delete(t.Context(), web()) }, "client.Preconditions"},
		"deletes one": {applytest.UIDChanged(), func(c client.Client) error {
			return c.Delete(t.Context(), web(), client.Preconditions{UID: &uid})
		}, ""},
		"the patch counts": {applytest.UIDChanged(), func(c client.Client) error {
			raw := client.RawPatch(types.ApplyYAMLPatchType, []byte("metadata: {uid: uid-1}"))
			return c.Patch(t.Context(), withoutUID(), raw, owner)
		}, ""},
		"the body counts": {applytest.UIDChanged(), func(c client.Client) error {
			body := &client.SubResourceApplyOptions{SubResourceBody: autoscalingv1ac.Scale().WithName("web")}
			return c.SubResource("scale").Apply(t.Context(), pinnedReplicas(), owner, body)
		}, "carries no uid"},
		"a body's update": {applytest.UIDChanged(), func(c client.Client) error {
			return c.SubResource("scale").Update(t.Context(), web(), client.WithSubResourceBody(scale()))
		}, "carries no uid"},
		"a body's apply": {applytest.UIDChanged(), func(c client.Client) error {
			return c.SubResource("scale").Patch(t.Context(), web(), client.Apply, owner, client.WithSubResourceBody(scale())) //nolint:staticcheck // as below
		}, "carries no uid"},

		"what the body sets": {applytest.OwnershipConflict(hpa, ".metadata.labels"), func(c client.Client) error {
			body := &client.SubResourceApplyOptions{SubResourceBody: autoscalingv1ac.Scale().WithName("web")}
			return c.SubResource("scale").Apply(t.Context(), threeReplicas().WithLabels(map[string]string{"a": "b"}), owner, body)
		}, "it does not set .metadata.labels"},
		"a patch in YAML": {applytest.OwnershipConflict(hpa, ".spec.paused"), func(c client.Client) error {
			return c.Patch(t.Context(), web(), client.RawPatch(types.ApplyYAMLPatchType, []byte("spec: {replicas: 3}")), owner)
		}, "it does not set .spec.paused"},
		"a patch of the status": {replicas("test", "status"), func(c client.Client) error {
			return c.Status().Patch(t.Context(), unstructuredWeb(), client.Apply, owner) //nolint:staticcheck // callers have it still
		}, "an apply by"},
		"no apply": {applytest.UIDChanged(), func(c client.Client) error {
			return c.Status().Patch(t.Context(), withoutUID(), client.RawPatch(types.JSONPatchType, []byte(`[]`)))
		}, ""},
		"deletes one version": {applytest.UIDChanged(), func(c client.Client) error {
			return c.Delete(t.Context(), web(), client.Preconditions{ResourceVersion: new("7")})
		}, "client.Preconditions"},

		"an owner":      {replicas("hpa", ""), func(c client.Client) error { return c.Apply(t.Context(), threeReplicas(), owner) }, ""},
		"one of status": {replicas("test", "status"), func(c client.Client) error { return c.Apply(t.Context(), threeReplicas(), owner) }, ""},
		"itself":        {replicas("test", ""), func(c client.Client) error { return c.Apply(t.Context(), threeReplicas(), owner) }, `an apply by "test", which does not conflict with what "test"`},
		"itself before": {applytest.OwnershipConflict(fieldowners.Manager{Name: "test", Operation: "Update", APIVersion: "apps/v1"}, ".spec.replicas"), func(c client.Client) error { return c.Apply(t.Context(), threeReplicas(), owner) }, ""},
		"not set": {replicas("hpa", ""), func(c client.Client) error {
			return c.Apply(t.Context(), threeReplicas().WithSpec(nil), owner)
		}, "it does not set .spec.replicas"},
		"one of two is not set": {applytest.OwnershipConflict(hpa, ".spec.replicas", ".spec.paused"), func(c client.Client) error {
			return c.Apply(t.Context(), threeReplicas(), owner)
		}, "it does not set .spec.paused"},
		"a key left to its default": {applytest.OwnershipConflict(hpa, `.spec.ports[port=80,protocol="TCP"].name`), func(c client.Client) error {
			port := corev1ac.ServicePort().WithPort(80).WithName("http")
			return c.Apply(t.Context(), corev1ac.Service("s", "shop").WithSpec(corev1ac.ServiceSpec().WithPorts(port)), owner)
		}, ""},
		"client.Apply itself": {replicas("test", ""), func(c client.Client) error {
			return c.Patch(t.Context(), unstructuredWeb(), client.Apply, owner) //nolint:staticcheck // callers have it still
		}, "an apply by"},
	} {
		t.Run(reason, func(t *testing.T) {
			inner := &testingT{TB: t}
			c := applytest.Inject(inner, fakeClient(), applytest.Fault{Answer: tc.answer})
			err := tc.call(c)
			inner.end()
			got := strings.Join(inner.failures, "\n")
			if err == nil || !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("%v, test failed by %q, want %q", err, got, tc.want)
			}
		})
	}
}

func withoutUID() *appsv1.Deployment {
	d := web()
	d.UID = ""
	return d
}

// A rival who always owns the replicas is met by those who set them, and only them.
func TestAlwaysPassesOver(t *testing.T) {
	c := applytest.Inject(t, fakeClient(), applytest.Fault{Answer: applytest.OwnershipConflict(hpa, ".spec.replicas"), Times: applytest.Always})
	config := threeReplicas().WithLabels(map[string]string{"a": "b"})
	outcome, err := newApplier(t, c, apply.OnConflict(apply.Relinquish)).Apply(t.Context(), apply.Intent{Config: config})
	if err != nil || len(outcome.Conflicts) != 1 || c.Given() != 1 {
		t.Errorf("%v, %v met, %d given, want one that is given in to", err, outcome.Conflicts, c.Given())
	}
	if got := live(t, c); got.Labels["a"] != "b" || *got.Spec.Replicas != 5 {
		t.Errorf("labels %v and %d replicas, want the rest to land", got.Labels, *got.Spec.Replicas)
	}

	inner := &testingT{TB: t}
	c = applytest.Inject(inner, fakeClient(), applytest.Fault{Answer: applytest.OwnershipConflict(hpa, ".spec.paused"), Times: applytest.Always})
	_ = c.Apply(t.Context(), threeReplicas(), owner)
	inner.end()
	if got := strings.Join(inner.failures, ""); !strings.Contains(got, "1 call matched; passed over the last: it does not set .spec.paused") {
		t.Errorf("%q, want why it was not given", got)
	}
}

// What a test leaves running cannot fail it when it is over.
func TestOverIsOver(t *testing.T) {
	inner := &testingT{TB: t}
	c := applytest.Inject(inner, fakeClient(), applytest.Fault{Answer: applytest.UIDChanged()})
	inner.end()
	before := len(inner.failures)
	if err := c.Update(t.Context(), withoutUID()); err == nil || len(inner.failures) != before {
		t.Errorf("%v, %q", err, inner.failures)
	}
}
