package apply

import (
	"errors"
	"strings"
	"testing"

	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestWrongIntents has each of them refused with a message that says what is wrong,
// and where nothing can come of a request, without one.
func TestWrongIntents(t *testing.T) {
	kit.ShapeClient(t)
	c, watch := watchedClient(t, true)
	namespace := kit.NewNamespace(t, c)
	deployment, configMap := kit.NewStage(t, c, namespace, "Deployment", ""), kit.NewStage(t, c, namespace, "ConfigMap", "")
	scale := func() *autoscalingv1ac.ScaleApplyConfiguration {
		return autoscalingv1ac.Scale().WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(2))
	}
	replicas := `{spec: {replicas: 2}}`
	for _, test := range []struct {
		reason string
		intent apply.Intent
		want   error
		says   []string
		sends  string
	}{
		{
			"a body has to go somewhere", apply.Intent{Config: deployment.Config(`{}`), Body: scale()},
			apply.ErrInvalidIntent, []string{"Deployment " + namespace, "Body", "Subresource"}, "",
		},
		{
			"with a body the configuration only names the object", apply.Intent{Config: deployment.Config(replicas), Subresource: "scale", Body: scale()},
			apply.ErrInvalidIntent, []string{"with Intent.Body set, Intent.Config may only name the object", "spec"}, "",
		},
		{
			"the body is of another object", apply.Intent{Config: deployment.Config(`{}`), Subresource: "scale", Body: scale().WithName("elsewhere")},
			apply.ErrInvalidIntent, []string{"Intent.Body names another object", "elsewhere"}, "",
		},
		{
			"a body without kind", apply.Intent{Config: deployment.Config(`{}`), Subresource: "scale", Body: &autoscalingv1ac.ScaleApplyConfiguration{}},
			apply.ErrInvalidIntent, []string{"Intent.Body", "apiVersion and kind"}, "",
		},
		{
			"a nil body of a type", apply.Intent{Config: deployment.Config(`{}`), Subresource: "scale", Body: (*autoscalingv1ac.ScaleApplyConfiguration)(nil)},
			apply.ErrInvalidIntent, []string{"Intent.Body", "nil"}, "",
		},
		{
			"a body as the server answered it", apply.Intent{Config: deployment.Config(`{}`), Subresource: "scale", Body: scale().WithResourceVersion("1")},
			apply.ErrInvalidIntent, []string{"resourceVersion"}, "",
		},
		{
			"the object where the scale has a kind of its own", apply.Intent{Config: deployment.Config(replicas), Subresource: "scale"},
			apply.ErrRefused, []string{"Deployment " + namespace, "invalid object type"}, "PATCH 400",
		},
		{
			"a body of another kind", apply.Intent{Config: deployment.Config(`{}`), Subresource: "scale", Body: corev1ac.ConfigMap("", "")},
			apply.ErrRefused, []string{"Deployment " + namespace}, "PATCH 400",
		},
		{
			"a kind without a status", apply.Intent{Config: client.ApplyConfigurationFromUnstructured(configMap.Object(`{status: {phase: x}}`)), Subresource: "status"},
			apply.ErrRefused, []string{"ConfigMap " + namespace, `its kind may lack subresource "status"`}, "PATCH 404, GET 200",
		},
		{
			"a kind without a scale", apply.Intent{Config: configMap.Config(`{}`), Subresource: "scale", Body: scale()},
			apply.ErrRefused, []string{"ConfigMap " + namespace, `its kind may lack subresource "scale"`}, "PATCH 404, GET 200",
		},
		{
			"no such subresource", apply.Intent{Config: deployment.Config(`{}`), Subresource: "nope"},
			apply.ErrRefused, []string{"Deployment " + namespace, `its kind may lack subresource "nope"`}, "PATCH 404, GET 200",
		},
		{
			"a path for a subresource", apply.Intent{Config: deployment.Config(`{}`), Subresource: "status/../x"},
			apply.ErrInvalidIntent, []string{`subresource "status/../x"`, "URL"}, "",
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			before := deployment.Live().GetResourceVersion() + configMap.Live().GetResourceVersion()
			watch.take()
			_, err := kit.NewApplier(t, c, "us", apply.OnConflict(apply.Force)).Apply(t.Context(), test.intent)
			if sent := watch.take(); !errors.Is(err, test.want) || sent != test.sends {
				t.Errorf("got %v, want %v; sent %q, want %q", err, test.want, sent, test.sends)
			}
			for _, part := range test.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
			t.Log(err)
			if deployment.Live().GetResourceVersion()+configMap.Live().GetResourceVersion() != before {
				t.Error("something landed")
			}
		})
	}
}

// TestSubresourceOfAnAbsentObject: nothing is created through a subresource. After the 404 of a
// write, a live read shows that the object is absent.
func TestSubresourceOfAnAbsentObject(t *testing.T) {
	kit.ShapeClient(t)
	c, watch := watchedClient(t, true)
	namespace := kit.NewNamespace(t, c)
	for _, decision := range kit.AllDecisions {
		for _, kind := range []string{"Deployment", "Shape"} {
			absent := &kit.Stage{T: t, Client: c, Kind: kind, Namespace: namespace, Name: "absent"}
			intents := map[string]apply.Intent{
				"PATCH 404, GET 404": {Config: absent.Config(`{status: {}}`), Subresource: "status"},
				"GET 404":            {Config: absent.Config(`{status: {}}`), Subresource: "status", MustExist: true},
			}
			if kind == "Deployment" {
				intents["PATCH 404, GET 404 of the scale"] = scaleIntent(absent)
			}
			for sends, intent := range intents {
				watch.take()
				outcome, err := kit.NewApplier(t, c, "us", apply.OnConflict(decision)).Apply(t.Context(), intent)
				sent := watch.take()
				if err != nil || outcome.Action != apply.Absent || sent != strings.TrimSuffix(sends, " of the scale") {
					t.Errorf("%s, %v: %v, %q; sent %q, want %s", kind, decision, err, outcome.Action, sent, sends)
				}
			}
		}
	}
}

func TestWrongPolicies(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	for _, test := range []struct {
		reason string
		policy apply.Policy
		says   []string
	}{
		{"a path that is none", apply.OnConflict(apply.Reject).At("spec.replicas", apply.Force), []string{`"spec.replicas"`, "offset 0"}},
		{"a key without quotes", apply.OnConflict(apply.Reject).At(".metadata.annotations.a/b", apply.Force), []string{`["a.b/c"]`}},
		{"nothing to match", apply.OnConflict(apply.Reject).When(apply.Match{}, apply.Force), []string{"empty"}},
		{"twice", apply.OnConflict(apply.Reject).At(".spec", apply.Force).At(".spec", apply.Share), []string{".spec", "twice"}},
		{"no decision", apply.OnConflict(7), []string{"unknown decision 7"}},
		{"no operation", apply.OnConflict(apply.Reject).When(apply.Match{Operation: "Patch"}, apply.Force), []string{`"Patch"`, "Apply or Update"}},
	} {
		_, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: c, Policy: test.policy})
		if err == nil {
			t.Errorf("%s: accepted", test.reason)
			continue
		}
		for _, part := range test.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", test.reason, err, part)
			}
		}
	}
}
