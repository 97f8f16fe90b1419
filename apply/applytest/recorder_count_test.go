package applytest_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/apply/applytest"
)

func TestCount(t *testing.T) {
	recorder := applytest.NewRecorder()
	if got := recorder.String(); got != "no requests" {
		t.Errorf("table %q", got)
	}
	transport := recorder.Wrap(answering(http.StatusOK, strings.NewReader("")))
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			_, _ = transport.RoundTrip(request(t, "PATCH", "/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=m&force=true", "application/apply-patch+yaml", ""))
		})
	}
	group.Wait()
	_, _ = transport.RoundTrip(request(t, "PUT", "/api/v1/namespaces/shop/pods/p/status?dryRun=All", "", ""))
	_, _ = transport.RoundTrip(request(t, "GET", "/version", "", ""))
	type r = applytest.Request
	for _, tc := range []struct {
		query r
		want  int
	}{
		{r{}, 22},
		{r{Verb: "apply"}, 20},
		{r{Verb: "apply", Forced: true}, 20},
		{r{Verb: "update"}, 1},
		{r{Resource: "pods"}, 1},
		{r{Resource: "deployments.apps"}, 20},
		{r{Resource: "deployments"}, 20},
		{r{Resource: "deployments.batch"}, 0},
		{r{Resource: "deploy"}, 0},
		{r{Namespace: "shop"}, 21},
		{r{Namespace: "other"}, 0},
		{r{Forced: true}, 20},
		{r{Name: "web"}, 20},
		{r{Subresource: "status"}, 1},
		{r{FieldManager: "m"}, 20},
		{r{DryRun: true}, 1},
		{r{Class: applytest.ClassSuccess}, 22},
		{r{Class: applytest.ClassConflict}, 0},
	} {
		if got := recorder.Count(tc.query); got != tc.want {
			t.Errorf("%+v: %d, want %d", tc.query, got, tc.want)
		}
	}
	want := "COUNT  VERB             RESOURCE          CLASS\n" +
		"20     apply, forced    deployments.apps  Success\n" +
		"1      update, dry run  pods/status       Success\n" +
		"1      other            -                 Success\n"
	if diff := cmp.Diff(want, recorder.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	recorder.Reset()
	if got := recorder.Count(r{}); got != 0 {
		t.Errorf("%d requests after Reset", got)
	}
}

// A query that matches nothing ever would let a test pass that looks at nothing.
func TestCountRefuses(t *testing.T) {
	for _, tc := range []struct {
		query applytest.Request
		want  string
	}{
		{applytest.Request{Verb: "aply"}, `Verb: "aply" is none of`},
		{applytest.Request{Class: "success"}, `Class: "success" is none of`},
		{applytest.Request{Resource: "Deployment"}, `"Deployment" is no resource`},
		{applytest.Request{Resource: "deployments/status"}, "Subresource apart"},
	} {
		got := stops(t, func(*testingT) { applytest.NewRecorder().Count(tc.query) })
		if !strings.Contains(got, tc.want) {
			t.Errorf("%+v: %q, want %q in it", tc.query, got, tc.want)
		}
	}
}
