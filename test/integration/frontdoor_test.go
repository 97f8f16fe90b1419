package integration

import (
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
)

// TestFrontDoorRecords: what an apply did is told, though the manager's clients were there
// before New.
func TestFrontDoorRecords(t *testing.T) {
	t.Parallel()
	c := newClient(t, server(t))
	namespace := newNamespace(t, c)
	mgr := newDropInManager(t, server(t))
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	applier, err := rt.Applier(dropInManager, apply.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	runDropInManager(t, mgr)
	page := func(data string) apply.Intent {
		return apply.Intent{Config: corev1ac.ConfigMap("page", namespace).WithData(map[string]string{"a": data})}
	}
	for _, step := range []struct {
		intent   apply.Intent
		action   apply.Action
		requests int
	}{
		{page("1"), apply.Created, 1},
		{page("2"), apply.Configured, 1},
		{page("2"), apply.Unchanged, 0},
	} {
		outcome, err := applier.Apply(t.Context(), step.intent)
		if err != nil || outcome.Action != step.action || outcome.Requests != step.requests {
			t.Errorf("%v, %s with %d requests; want %s with %d", err, outcome.Action, outcome.Requests, step.action, step.requests)
		}
	}
}

// TestFrontDoorTakesTurns: of many writers to one object through clients of one Runtime, few
// are at the server at a time.
func TestFrontDoorTakesTurns(t *testing.T) {
	t.Parallel()
	const writers = 16
	c := newClient(t, server(t))
	namespace := newNamespace(t, c)
	restConfig := rest.CopyConfig(server(t))
	restConfig.QPS = -1
	way := turns{byStatus: map[int]int{}}
	restConfig.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodGet {
				return next.RoundTrip(request)
			}
			way.began()
			response, err := next.RoundTrip(request)
			way.ended(response)
			return response, err
		})
	})
	mgr := newDropInManager(t, restConfig)
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	runDropInManager(t, mgr)
	ours := rt.Client(dropInManager, apply.Policy{})
	ended := make(chan error, writers)
	for i := range writers {
		config := corev1ac.ConfigMap("page", namespace).WithData(map[string]string{fmt.Sprint("key", i): "x"})
		go func() { ended <- ours.Apply(t.Context(), config, client.FieldOwner(fmt.Sprint("writer-", i))) }()
	}
	for range writers {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	var page corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "page"}, &page); err != nil || len(page.Data) != writers {
		t.Errorf("%v: %d keys of %d", err, len(page.Data), writers)
	}
	if way.max > writers/4 { // how many a lane lets in is the lane's to say
		t.Errorf("%d at the server at a time", way.max)
	}
}
