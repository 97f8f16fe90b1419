package apply_test

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"coapply.dev/apply"
	"coapply.dev/test/kit/memory"
)

func scale(n int32) *autoscalingv1ac.ScaleApplyConfiguration {
	return autoscalingv1ac.Scale().WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(n))
}

func TestSubresources(t *testing.T) {
	status := apply.Intent{Config: statusOf(1), Subresource: "status"}
	const sends = "PATCH /status"
	noSuch := corev1ac.ConfigMap("web", "shop")
	play(t, map[string]scene{
		"status": {
			reason: "goes to the subresource", intent: status, sent: []string{sends}, attempts: 1, action: apply.Configured,
		},
		"of an absent object": {
			reason: "there is nothing to create: the object is waited for", intent: status, happens: removed,
			sent: []string{sends, read}, attempts: 1, action: apply.Absent,
		},
		"of an object that went while a conflict was settled": {
			reason: "there is nothing to create then, either", intent: status, policy: force,
			happens: allOf(statusOwned(entry("kubelet", "Update", "status", statusReplicas)), before(2, removed)),
			sent:    []string{sends, read}, attempts: 1, action: apply.Absent,
		},
		"of an object that went": {
			reason: "the object that was meant is gone", intent: status, happens: allOf(pinnedNow, removed),
			sent: []string{pinnedStatus, read}, attempts: 1, err: apply.ErrUIDMismatch,
		},
		"that there is not": {
			reason: "a missing subresource is no missing object", intent: apply.Intent{Config: noSuch, Subresource: "scale", Body: scale(3)},
			happens: func(w *world) {
				w.Must(w.Apply(w.Context(), corev1ac.ConfigMap("web", "shop"), client.FieldOwner("test")))
			},
			sent: []string{"PATCH configmaps/web/scale", "GET configmaps/web"}, attempts: 1, err: apply.ErrRefused,
		},
		"a field of ours, by Apply of the object": {
			reason: "only an apply of the object takes over what was applied through a subresource", intent: status,
			happens: statusOwned(entry(manager, "Apply", "", statusReplicas)), sent: []string{sends, read}, attempts: 1,
			err: apply.ErrConflict, conflicts: []string{"Reject .status.replicas to 1: owned by coapply-test itself (by Apply) with value 5"},
		},
		"scale": {
			reason: "has a body of its own, and its live value is read there", intent: scaleIntent(), policy: force,
			attempts: 3, action: apply.Configured, conflicts: []string{"Force .spec.replicas to 3: owned by hpa/Update[scale] with value 5"},
			sent: []string{"PATCH /scale", "GET /scale", "PATCH /scale", "PATCH /scale uid resourceVersion force"},
		},
	})
}

// TestScaleBody: the body names the object. A null metadata cannot be pinned, and is none.
func TestScaleBody(t *testing.T) {
	for reason, body := range map[string]runtime.ApplyConfiguration{
		"named":       scale(3).WithName("web").WithNamespace("shop"),
		"no metadata": loose(map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": nil, "spec": map[string]any{"replicas": int64(3)}}),
	} {
		w := newWorld(t, entriesOf("scale")[1:]...)
		uid := w.Live().UID
		_, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{
			Config: appsv1ac.Deployment("web", "shop").WithUID(uid), UID: uid, Subresource: "scale", Body: body,
		})
		want := `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web","namespace":"shop","uid":"` + string(uid) + `"},"spec":{"replicas":3}}`
		if got := canonical(t, w.LastBody()); err != nil || got != want {
			t.Errorf("%s: sent %s, %v", reason, got, err)
		}
	}
}

// TestStatusOfTheObjectItself: a status that the server drops is told of: nothing else would ever say so.
func TestStatusOfTheObjectItself(t *testing.T) {
	w := newWorld(t, kubectl)
	config := threeReplicas().WithStatus(appsv1ac.DeploymentStatus().WithReplicas(1))
	_, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: config})
	if !errors.Is(err, apply.ErrRefused) || !strings.Contains(err.Error(), "whose Intent.Subresource is") {
		t.Error(err)
	}
	kind := w.Gadgets() // which have no subresources
	gadget := map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind,
		"metadata": map[string]any{"name": "web", "namespace": "shop"}, "status": map[string]any{"replicas": int64(1)}}
	if _, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: loose(gadget)}); err != nil {
		t.Error(err)
	}
	c := fake.NewClientBuilder().WithRESTMapper(memory.Mapper()).Build() // whose answers have no managed fields
	applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c})
	w.Must(err)
	if _, err := applier.Apply(t.Context(), apply.Intent{Config: config}); err != nil {
		t.Error(err)
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
		"a body and fields":         {apply.Intent{Config: threeReplicas(), Subresource: "scale", Body: scale(1)}, "Intent.Config sets spec, but with Intent.Body"},
		"a body without kind":       {apply.Intent{Config: named, Subresource: "scale", Body: noKind}, "Intent.Body: apiVersion and kind"},
		"a body that was read":      {apply.Intent{Config: named, Subresource: "scale", Body: read}, "metadata.resourceVersion"},
		"a nil body":                {apply.Intent{Config: named, Subresource: "scale", Body: (*autoscalingv1ac.ScaleApplyConfiguration)(nil)}, "Intent.Body: the apply configuration is"},
		"another object's body":     {apply.Intent{Config: named, Subresource: "scale", Body: elsewhere}, "names another namespace than Intent.Config: other"},
		"broken metadata": {
			apply.Intent{Config: named, Subresource: "scale", Body: loose(map[string]any{"apiVersion": "v1", "kind": "S", "metadata": "x"})},
			"metadata is not a JSON object",
		},
		"no status":                 {apply.Intent{Config: named, Subresource: "status"}, "the intent is for the status subresource and sets no status"},
		"a spec as well":            {apply.Intent{Config: threeReplicas().WithStatus(appsv1ac.DeploymentStatus()), Subresource: "status"}, "also sets spec; set spec with another intent"},
		"a path":                    {apply.Intent{Config: named, Subresource: "status/../x"}, "cannot be part of a URL"},
		"a body without version":    {apply.Intent{Config: named, Subresource: "scale", Body: noVersion}, "Intent.Body: apiVersion and kind"},
		"a body of another name":    {apply.Intent{Config: named, Subresource: "scale", Body: scale(1).WithName("other")}, "names another object than Intent.Config: other"},
		"a status that belongs":     {apply.Intent{Config: status, Subresource: "status", Belongs: isBornOurs}, "Intent.Subresource and Intent.Belongs are both set"},
		"two uids":                  {apply.Intent{Config: twice, UID: "uid-2"}, "two uids"},
		"two uids and a body":       {apply.Intent{Config: twice, UID: "uid-2", Subresource: "scale", Body: scale(1)}, "two uids"},
		"two uids and Belongs":      {apply.Intent{Config: twice, UID: "uid-2", Subresource: "status", Belongs: isBornOurs}, "two uids"},
		"two uids and a wrong Read": {apply.Intent{Config: twice, UID: "uid-2", Read: &appsv1.Deployment{}}, "two uids"},
	} {
		w := newEmptyWorld(t)
		notCached(w)
		outcome, err := w.applier(force).Apply(t.Context(), test.intent)
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
