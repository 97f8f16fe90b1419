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
	play(t, map[string]scene{
		"created": {
			reason: "201 says so", intent: apply.Intent{Config: wholeWeb()}, happens: removed, sent: []string{whole}, action: apply.Created, attempts: 1,
		},
		"configured": {
			reason: "nothing tells that this resourceVersion was there before", happens: appliedNow, sent: []string{whole}, action: apply.Configured, attempts: 1,
		},
		"client-go retries": {
			reason:  "429 with Retry-After is repeated by client-go: two requests, one apply",
			happens: allOf(alone, fails(1, apierrors.NewTooManyRequests("busy", 2))), sent: []string{whole, whole}, action: apply.Configured, attempts: 1,
		},
	})
}

func TestApplyAgain(t *testing.T) {
	w := newWorld(t, kubectl)
	applier := w.applier(apply.Policy{})
	for i, c := range []struct {
		happens func(*world)
		want    apply.Action
	}{
		{func(*world) {}, apply.Configured},
		{func(*world) {}, apply.Unchanged},     // the resourceVersion of the last answer
		{touched, apply.Configured},            // another one
		{recreated(kubectl), apply.Configured}, // another object
		{removed, apply.Created},               // the status stands above all
	} {
		c.happens(w)
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: wholeWeb()})
		if err != nil || outcome.Action != c.want {
			t.Errorf("apply %d: %v, %v; want %v", i+1, outcome.Action, err, c.want)
		}
	}
}

// TestConfigOfAnApplier: other code writes under its name and in its lanes.
func TestConfigOfAnApplier(t *testing.T) {
	a := newEmptyWorld(t).applier(force)
	if config := a.Config(); config.FieldManager != manager || config.Lanes == nil || config.LiveReader == nil {
		t.Errorf("%+v", config)
	}
	if a.Client() == nil {
		t.Error("it writes by no client")
	}
}

func TestApplyReportsTheObject(t *testing.T) {
	w := newEmptyWorld(t)
	outcome, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: wholeWeb()})
	if err != nil {
		t.Fatal(err)
	}
	ref, live := outcome.Object, w.Live()
	if ref.String() != "Deployment shop/web" || ref.UID != live.UID || ref.ResourceVersion != live.ResourceVersion || ref.Group != "apps" {
		t.Errorf("object %#v", ref)
	}
}

// The body has the intent's fields and no other, and the caller's configuration is
// as it was, though the client writes the answer into what it is given.
func TestApplyLeavesTheConfigurationAlone(t *testing.T) {
	const body = `{"apiVersion":"apps/v1","kind":"Deployment",
		"metadata":{"name":"web","namespace":"shop","annotations":{"a":"<&>"}},"spec":{"replicas":3}}`
	loose := &unstructured.Unstructured{}
	if err := loose.UnmarshalJSON([]byte(body)); err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]runtime.ApplyConfiguration{
		"typed":        threeReplicas().WithAnnotations(map[string]string{"a": "<&>"}),
		"unstructured": client.ApplyConfigurationFromUnstructured(loose),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before, err := json.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			applier := w.applier(force)
			for range 2 {
				if _, err := applier.Apply(t.Context(), apply.Intent{Config: config}); err != nil {
					t.Fatal(err)
				}
			}
			if after, err := json.Marshal(config); err != nil || !bytes.Equal(after, before) {
				t.Errorf("the configuration became %s, %v", after, err)
			}
			w.WantSent(whole, read, whole, forces, whole)
			for i, sent := range w.Bodies() {
				got := bodyOf(t, sent)
				if i == 2 { // the force differs by the pins alone
					delete(got["metadata"].(map[string]any), "uid")
					delete(got["metadata"].(map[string]any), "resourceVersion")
				}
				if diff := cmp.Diff(bodyOf(t, body), got); diff != "" {
					t.Errorf("body %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

func TestApplyWithoutRecordExchange(t *testing.T) {
	w := newEmptyWorld(t)
	w.unseen = true
	applier := w.applier(apply.Policy{})
	for i, want := range []struct {
		happens  func(*world)
		action   apply.Action
		requests int
	}{
		{func(*world) {}, apply.Configured, 1}, // the status is not known
		{func(*world) {}, apply.Unchanged, 1},  // the resourceVersion is
		{scaled(5), "", 2},                     // calls stand for requests
	} {
		want.happens(w)
		outcome, _ := applier.Apply(t.Context(), apply.Intent{Config: wholeWeb()})
		if outcome.Action != want.action || outcome.Requests != want.requests {
			t.Errorf("apply %d: %v by %d requests, want %+v", i+1, outcome.Action, outcome.Requests, want)
		}
	}
}

// TestRecordedTwice: a request that passes two recorders is one request.
func TestRecordedTwice(t *testing.T) {
	w := newWorld(t, kubectl)
	w.wrap = append(w.wrap, apply.RecordExchange)
	outcome, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
	if err != nil || outcome.Requests != 1 {
		t.Errorf("%d requests, %v", outcome.Requests, err)
	}
}

// Requests that no Apply sent pass through untouched.
func TestRecordExchangePassesOthers(t *testing.T) {
	body := &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}
	wrapped := apply.RecordExchange(roundTripper(func(*http.Request) (*http.Response, error) { return body, nil }))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://server", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := wrapped.RoundTrip(request); got != body || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
