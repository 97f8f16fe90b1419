package apply_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"coapply.dev/apply"
)

func scale(n int32) *autoscalingv1ac.ScaleApplyConfiguration {
	return autoscalingv1ac.Scale().WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(n))
}

func TestSubresources(t *testing.T) {
	status := apply.Intent{
		Config:      appsv1ac.Deployment("web", "shop").WithStatus(appsv1ac.DeploymentStatus().WithReplicas(1)),
		Subresource: "status",
	}
	pinned := status
	pinned.UID = "uid-1"
	noSuch := apierrors.NewNotFound(deployments, "")
	run(t, map[string]testCase{
		"status": {
			reason: "goes to the subresource", intent: status,
			steps: []step{{"PATCH", at("/status", ok(web("uid-1", "8")))}}, attempts: 1, action: apply.Configured,
		},
		"of an absent object": {
			reason: "there is nothing to create: the object is waited for", intent: status,
			steps: []step{{"PATCH", notFound()}, {"GET", notFound()}}, attempts: 1, action: apply.Absent,
		},
		"of an object that went while a conflict was settled": {
			reason: "there is nothing to create then, either", intent: status, policy: force,
			steps: []step{{"PATCH", at("/status", conflict(hpaReplicas))}, {"GET", notFound()}}, attempts: 1, action: apply.Absent,
		},
		"of an object that went": {
			reason: "the object that was meant is gone", intent: pinned,
			steps: []step{{"PATCH uid=uid-1", notFound()}, {"GET", notFound()}}, attempts: 1, err: apply.ErrUIDMismatch,
		},
		"status, with a body": {
			reason: "a kind of its own says what its fields are",
			intent: apply.Intent{Config: appsv1ac.Deployment("web", "shop"), Subresource: "status", Body: scale(3)},
			steps:  []step{{"PATCH", at("/status", ok(scaleOf("uid-1", "8")))}}, attempts: 1, action: apply.Configured,
		},
		"that there is not": {
			reason: "a missing subresource is no missing object", intent: status,
			steps: []step{{"PATCH", fail(noSuch)}, {"GET", ok(web("uid-1", "7"))}}, attempts: 1, err: apply.ErrRefused,
		},
		"a field of ours, by Apply of the object": {
			reason: "only an apply of the object takes over what was applied through a subresource", intent: status,
			steps: []step{{"PATCH", at("/status", conflict(cause(".status.replicas", `"coapply-test"`)))}, {"GET", ok(web("uid-1", "7"))}}, attempts: 1,
			err: apply.ErrConflict, conflicts: []string{"Reject .status.replicas to 1: owned by coapply-test itself (by Apply) with null"},
		},
		"scale": {
			reason:   "has a body of its own, and its live value is read there",
			intent:   apply.Intent{Config: appsv1ac.Deployment("web", "shop"), Subresource: "scale", Body: scale(3)},
			policy:   force,
			attempts: 3, action: apply.Configured, conflicts: []string{"Force .spec.replicas to 3: owned by hpa/Update[scale] with 5"},
			steps: []step{
				{"PATCH", at("/scale", conflict(hpaReplicas))}, {"GET", at("/scale", ok(scaleOf("uid-1", "7")))},
				{"PATCH", at("/scale", conflict(hpaReplicas))},
				{"PATCH uid=uid-1 resourceVersion=7 force", at("/scale", ok(scaleOf("uid-1", "8")))},
			},
		},
	})
}

// at answers requests to one subresource.
func at(subresource string, a answer) answer {
	return func(request *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(request.URL.Path, subresource) {
			return nil, errors.New("a request to " + request.URL.Path)
		}
		return a(request)
	}
}

func scaleOf(uid, resourceVersion string) map[string]any {
	return map[string]any{
		"apiVersion": "autoscaling/v1", "kind": "Scale",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "uid": uid, "resourceVersion": resourceVersion},
		"spec":     map[string]any{"replicas": 5},
	}
}

func TestScaleBody(t *testing.T) {
	s := newScript(t, []step{{"PATCH uid=uid-1", ok(scaleOf("uid-1", "8"))}})
	_, err := s.applier(apply.Policy{}, nil).Apply(t.Context(), apply.Intent{
		Config: appsv1ac.Deployment("web", "shop").WithUID("uid-1"), UID: "uid-1", Subresource: "scale",
		Body: scale(3).WithName("web").WithNamespace("shop"),
	})
	want := `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web","namespace":"shop","uid":"uid-1"},"spec":{"replicas":3}}`
	if got := canonical(t, s.bodies[0]); err != nil || got != want {
		t.Errorf("sent %s, %v", got, err)
	}
}

// A null metadata cannot be pinned, and is none.
func TestScaleBodyWithoutMetadata(t *testing.T) {
	s := newScript(t, []step{{"PATCH uid=uid-1", ok(scaleOf("uid-1", "8"))}})
	_, err := s.applier(apply.Policy{}, nil).Apply(t.Context(), apply.Intent{
		Config: appsv1ac.Deployment("web", "shop"), UID: "uid-1", Subresource: "scale",
		Body: loose(map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": nil, "spec": map[string]any{"replicas": int64(3)}}),
	})
	want := `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web","namespace":"shop","uid":"uid-1"},"spec":{"replicas":3}}`
	if got := canonical(t, s.bodies[0]); err != nil || got != want {
		t.Errorf("sent %s, %v", got, err)
	}
}

// A status that the server drops is told of: nothing else would ever say so.
func TestStatusOfTheObjectItself(t *testing.T) {
	config := threeReplicas().WithStatus(appsv1ac.DeploymentStatus().WithReplicas(1))
	landed := func(fields string) answer {
		d := web("uid-1", "8")
		if fields == "" {
			d.ManagedFields = nil
			return ok(d)
		}
		d.ManagedFields = append(d.ManagedFields, entry("kubelet", "Update", "status", `{"f:status":{"f:replicas":{}}}`), entry(manager, "Apply", "", fields))
		return ok(d)
	}
	for fields, refused := range map[string]bool{
		`{"f:spec":{"f:replicas":{}}}`:                              true,
		`{"f:spec":{"f:replicas":{}},"f:status":{"f:replicas":{}}}`: false,
		"": false, // nobody's fields are known
	} {
		s := newScript(t, []step{{"PATCH", landed(fields)}})
		_, err := s.applier(apply.Policy{}, nil).Apply(t.Context(), apply.Intent{Config: config})
		if errors.Is(err, apply.ErrRefused) != refused || refused && !strings.Contains(err.Error(), "whose Intent.Subresource is") {
			t.Errorf("%s: %v", fields, err)
		}
	}
}

func TestInvalidSubresources(t *testing.T) {
	named := appsv1ac.Deployment("web", "shop")
	read := scale(1)
	read.ObjectMetaApplyConfiguration = metav1ac.ObjectMeta().WithResourceVersion("7")
	noKind := scale(1)
	noKind.Kind = nil
	noVersion := scale(1)
	noVersion.APIVersion = nil
	elsewhere := scale(1).WithNamespace("other")
	status := appsv1ac.Deployment("web", "shop").WithStatus(appsv1ac.DeploymentStatus().WithReplicas(1))
	twice := appsv1ac.Deployment("web", "shop").WithUID("uid-1")
	for name, test := range map[string]struct {
		intent apply.Intent
		says   string
	}{
		"a body and no subresource": {apply.Intent{Config: named, Body: scale(1)}, "without a Subresource"},
		"a body and fields":         {apply.Intent{Config: threeReplicas(), Subresource: "scale", Body: scale(1)}, "only names the object, but it also sets spec"},
		"a body without kind":       {apply.Intent{Config: named, Subresource: "scale", Body: noKind}, "the body: apiVersion and kind"},
		"a body that was read":      {apply.Intent{Config: named, Subresource: "scale", Body: read}, "metadata.resourceVersion"},
		"a nil body":                {apply.Intent{Config: named, Subresource: "scale", Body: (*autoscalingv1ac.ScaleApplyConfiguration)(nil)}, "the body: the apply configuration is"},
		"another object's body":     {apply.Intent{Config: named, Subresource: "scale", Body: elsewhere}, "names another namespace than Intent.Config: other"},
		"broken metadata": {
			apply.Intent{Config: named, Subresource: "scale", Body: loose(map[string]any{"apiVersion": "v1", "kind": "S", "metadata": "x"})},
			"metadata is not a JSON object",
		},
		"no status":                 {apply.Intent{Config: named, Subresource: "status"}, "the intent is for the status subresource and sets no status"},
		"a spec as well":            {apply.Intent{Config: threeReplicas().WithStatus(appsv1ac.DeploymentStatus()), Subresource: "status"}, "also sets spec; set spec with another intent"},
		"a path":                    {apply.Intent{Config: named, Subresource: "status/../x"}, "cannot be part of a URL"},
		"a body without version":    {apply.Intent{Config: named, Subresource: "scale", Body: noVersion}, "the body: apiVersion and kind"},
		"a body of another name":    {apply.Intent{Config: named, Subresource: "scale", Body: scale(1).WithName("other")}, "names another object than Intent.Config: other"},
		"a status that belongs":     {apply.Intent{Config: status, Subresource: "status", Belongs: isBornOurs}, "Intent.Subresource and Intent.Belongs are both set, but cannot be combined"},
		"two uids":                  {apply.Intent{Config: twice, UID: "uid-2"}, "two uids"},
		"two uids and a body":       {apply.Intent{Config: twice, UID: "uid-2", Subresource: "scale", Body: scale(1)}, "two uids"},
		"two uids and Belongs":      {apply.Intent{Config: twice, UID: "uid-2", Subresource: "status", Belongs: isBornOurs}, "two uids"},
		"two uids and a wrong Read": {apply.Intent{Config: twice, UID: "uid-2", Read: &appsv1.Deployment{}}, "two uids"},
	} {
		outcome, err := newScript(t, nil).applier(force, cache{}).Apply(t.Context(), test.intent)
		if !errors.Is(err, apply.ErrInvalidIntent) || !strings.Contains(err.Error(), test.says) || outcome.Requests != 0 {
			t.Errorf("%s: %v, want it to say %q", name, err, test.says)
		}
	}
}

func TestIntentNamesItsObject(t *testing.T) {
	object, err := apply.Intent{Config: threeReplicas(), UID: "uid-1"}.Object()
	if err != nil || object.String() != "Deployment shop/web" || object.UID != "uid-1" || object.Group != "apps" {
		t.Errorf("%#v, %v", object, err)
	}
	if _, err := (apply.Intent{}).Object(); !errors.Is(err, apply.ErrInvalidIntent) {
		t.Errorf("nothing: %v", err)
	}
}
