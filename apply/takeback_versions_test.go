package apply_test

import (
	"errors"
	"fmt"
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

// TestTakeBackInPart: of two lost fields one means another thing in our entry's apiVersion. The
// outcome and the plan name the other one alone.
func TestTakeBackInPart(t *testing.T) {
	const both = `{"f:spec":{"f:minReadySeconds":{},"f:replicas":{}}}`
	lost := func(version string) *appsv1.Deployment {
		d := ownersMadeUp(version, both)
		d.Spec.MinReadySeconds = 7
		ours := entry(manager, "Apply", "", `{"f:spec":{"f:paused":{}}}`)
		ours.APIVersion = "apps/v1beta1"
		d.ManagedFields = append(d.ManagedFields, ours)
		return d
	}
	earlier := func() *appsv1.Deployment {
		d := lost("7")
		d.APIVersion, d.Spec.MinReadySeconds = "apps/v1beta1", 8
		return d
	}
	read, readEarlier := step{"GET", ok(lost("7"))}, step{"GET", ok(earlier())}
	config := apply.Config{Contract: claims(".spec.replicas", ".spec.minReadySeconds")}
	intent := apply.Intent{Config: threeReplicas(), Belongs: isBornOurs}

	s := newScript(t, []step{read, readEarlier, {rewriteAt7 + " dry run", stores(lost("7"))}, {rewriteAt7, stores(lost("8"))}, {toOurs, ok(mended("9"))}})
	outcome, err := s.applierOver(s.restConfig(true), config, cache{object: lost("7")}).Apply(t.Context(), intent)
	if err != nil || fmt.Sprint(outcome.TakenBack) != "[.spec.replicas]" {
		t.Errorf("taken back: %v, %v", outcome.TakenBack, err)
	}
	plan, err := newScript(t, []step{read, read, read, readEarlier}).planner(config, true).Plan(t.Context(), intent)
	if err != nil || fmt.Sprint(plan.TakenBack) != "[.spec.replicas]" {
		t.Errorf("to be taken back: %v, %v", plan.TakenBack, err)
	}
}
