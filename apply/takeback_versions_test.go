package apply_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	appsv1 "k8s.io/api/apps/v1"

	"coapply.dev/apply"
)

// TestTakeBackAcrossVersions: our own entry is in an earlier apiVersion. A field moves to it
// only if it means the same there, and if the server has that version still.
func TestTakeBackAcrossVersions(t *testing.T) {
	lost := func(version string) *appsv1.Deployment {
		d := wiped(version)
		ours := entry(manager, "Apply", "", `{"f:spec":{"f:minReadySeconds":{}}}`)
		ours.APIVersion = "apps/v1beta1"
		d.ManagedFields = append(d.ManagedFields, ours)
		return d
	}
	earlier := func(uid, version string, replicas int32) step {
		d := withReplicas(&replicas, web(uid, version))
		d.APIVersion = "apps/v1beta1"
		return step{"GET", func(request *http.Request) (*http.Response, error) {
			if !strings.Contains(request.URL.Path, "/v1beta1/") {
				return nil, errors.New("a request to " + request.URL.Path)
			}
			return ok(d)(request)
		}}
	}
	read := func(version string) step { return step{"GET", ok(lost(version))} }
	const rehearseAt7, rehearseAt8 = rewriteAt7 + " dry run", rewriteAt8 + " dry run"
	at8 := []step{
		read("8"), earlier("uid-1", "8", 5), {rehearseAt8, stores(lost("8"))}, {rewriteAt8, stores(lost("9"))}, {toOurs, ok(mended("10"))},
	}
	for reason, c := range map[string]struct {
		steps []step
		back  bool
	}{
		"the same in both":       {at8, true},
		"another between reads":  {append([]step{read("7"), earlier("uid-1", "8", 5)}, at8...), true},
		"made anew between them": {append([]step{read("7"), earlier("uid-2", "7", 5)}, at8...), true},
		"overtaken":              {append([]step{read("7"), earlier("uid-1", "7", 5), {rehearseAt7, stale()}}, at8...), true},
		"not stored": {
			[]step{read("7"), earlier("uid-1", "7", 5), {rehearseAt7, ok(lost("7"))}, {toOurs, ok(mended("8"))}}, false,
		},
		"another value there": {
			[]step{read("7"), earlier("uid-1", "7", 4), {toOurs, ok(mended("8"))}}, false,
		},
		"no such version": {
			[]step{read("7"), {"GET", notFound()}, {toOurs, ok(mended("8"))}}, false,
		},
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				ctx := logr.NewContext(t.Context(), funcr.New(func(_, text string) { log.WriteString(text) }, funcr.Options{}))
				s := newScript(t, c.steps)
				a := s.applierOver(s.restConfig(true), apply.Config{Contract: claims(".spec.replicas")}, cache{object: lost("7")})
				outcome, err := a.Apply(ctx, apply.Intent{Config: threeReplicas(), Belongs: isBornOurs})
				if err != nil || len(outcome.TakenBack) > 0 != c.back || strings.Contains(log.String(), "cannot be taken back") == c.back {
					t.Errorf("taken back: %v, %v; the log says %s", outcome.TakenBack, err, log.String())
				}
			})
		})
	}
}
