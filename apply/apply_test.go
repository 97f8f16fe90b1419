package apply_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

func TestApplyAction(t *testing.T) {
	run(t, map[string]testCase{
		"created": {
			reason: "201 says so",
			steps:  []step{{"PATCH", created(web("uid-1", "1"))}},
			action: apply.Created, attempts: 1,
		},
		"configured": {
			reason: "nothing tells that this resourceVersion was there before",
			steps:  []step{{"PATCH", ok(web("uid-1", "7"))}},
			action: apply.Configured, attempts: 1,
		},
		"client-go retries": {
			reason: "429 with Retry-After is repeated by client-go: two requests, one apply",
			steps:  []step{{"PATCH", fail(apierrors.NewTooManyRequests("busy", 2))}, {"PATCH", ok(web("uid-1", "7"))}},
			action: apply.Configured, attempts: 1,
		},
	})
}

func TestApplyAgain(t *testing.T) {
	s := newScript(t, []step{
		{"PATCH", ok(web("uid-1", "7"))},
		{"PATCH", ok(web("uid-1", "7"))},
		{"PATCH", ok(web("uid-1", "8"))},
		{"PATCH", ok(web("uid-2", "8"))},
		{"PATCH", created(web("uid-2", "8"))},
		{"PATCH", ok(web("", ""))},
		{"PATCH", ok(web("", ""))},
	})
	applier := s.applier(apply.Policy{}, nil)
	for i, want := range []apply.Action{
		apply.Configured,
		apply.Unchanged,  // the resourceVersion of the last answer
		apply.Configured, // another one
		apply.Configured, // another object
		apply.Created,    // the status stands above all
		apply.Configured,
		apply.Configured, // no resourceVersion tells nothing
	} {
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()})
		if err != nil || outcome.Action != want {
			t.Errorf("apply %d: %v, %v; want %v", i+1, outcome.Action, err, want)
		}
	}
}

// TestConfigOfAnApplier: other code writes under its name and in its lanes.
func TestConfigOfAnApplier(t *testing.T) {
	a := newScript(t, nil).applier(force, nil)
	if config := a.Config(); config.FieldManager != manager || config.Lanes == nil || config.LiveReader == nil {
		t.Errorf("%+v", config)
	}
	if a.Client() == nil {
		t.Error("it writes by no client")
	}
}

func TestApplyReportsTheObject(t *testing.T) {
	s := newScript(t, []step{{"PATCH", created(web("uid-1", "7"))}})
	outcome, err := s.applier(apply.Policy{}, nil).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
	if err != nil {
		t.Fatal(err)
	}
	ref := outcome.Object
	if ref.String() != "Deployment shop/web" || ref.UID != "uid-1" || ref.ResourceVersion != "7" || ref.Group != "apps" {
		t.Errorf("object %#v", ref)
	}
}

// The body has the intent's fields and no other, and the caller's configuration is
// as it was, though the client writes the answer into what it is given.
func TestApplyLeavesTheConfigurationAlone(t *testing.T) {
	const body = `{"apiVersion":"apps/v1","kind":"Deployment",
		"metadata":{"name":"web","namespace":"shop","labels":{"a":"<&>"}},"spec":{"replicas":3}}`
	loose := &unstructured.Unstructured{}
	if err := loose.UnmarshalJSON([]byte(body)); err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]runtime.ApplyConfiguration{
		"typed":        threeReplicas().WithLabels(map[string]string{"a": "<&>"}),
		"unstructured": client.ApplyConfigurationFromUnstructured(loose),
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, []step{
				{"PATCH", conflict(hpaReplicas)},
				{"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=7 force", ok(web("uid-1", "8"))},
				{"PATCH", ok(web("uid-1", "8"))},
			})
			before, err := json.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			applier := s.applier(force, nil)
			for range 2 {
				if _, err := applier.Apply(t.Context(), apply.Intent{Config: config}); err != nil {
					t.Fatal(err)
				}
			}
			if after, err := json.Marshal(config); err != nil || !bytes.Equal(after, before) {
				t.Errorf("the configuration became %s, %v", after, err)
			}
			for _, i := range []int{0, 1, 3} {
				if diff := cmp.Diff(decoded(t, body), decoded(t, s.bodies[i])); diff != "" {
					t.Errorf("body %d (-want +got):\n%s", i, diff)
				}
			}
			forced := decoded(t, s.bodies[2]) // differs by the pins alone
			delete(forced["metadata"].(map[string]any), "uid")
			delete(forced["metadata"].(map[string]any), "resourceVersion")
			if diff := cmp.Diff(decoded(t, body), forced); diff != "" {
				t.Errorf("forced body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApplyWithoutRecordExchange(t *testing.T) {
	s := newScript(t, []step{
		{"PATCH", created(web("uid-1", "7"))},
		{"PATCH", ok(web("uid-1", "7"))},
		{"PATCH", conflict(hpaReplicas)},
		{"GET", ok(web("uid-1", "7"))},
	})
	applier := s.applierOver(s.restConfig(false), apply.Config{}, nil)
	for i, want := range []struct {
		action   apply.Action
		requests int
	}{
		{apply.Configured, 1}, // the status is not known
		{apply.Unchanged, 1},  // the resourceVersion is
		{"", 2},               // calls stand for requests
	} {
		outcome, _ := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()})
		if outcome.Action != want.action || outcome.Requests != want.requests {
			t.Errorf("apply %d: %v by %d requests, want %+v", i+1, outcome.Action, outcome.Requests, want)
		}
	}
}

// Requests that no Apply sent pass through untouched.
func TestRecordExchangePassesOthers(t *testing.T) {
	body := respond(nil, http.StatusOK, nil, nil)
	wrapped := apply.RecordExchange(roundTripper(func(*http.Request) (*http.Response, error) { return body, nil }))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://server", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := wrapped.RoundTrip(request); got != body || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func decoded(t *testing.T, text string) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}
