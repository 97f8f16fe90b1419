package applytest_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/applytest"
)

// TestShadowed has two faults, of which the first may leave nothing.
func TestShadowed(t *testing.T) {
	always := func(answer applytest.Answer, call applytest.Call) applytest.Fault {
		return applytest.Fault{Call: call, Answer: answer, Times: applytest.Always}
	}
	get, apply := applytest.Call{Verb: applytest.VerbGet}, applytest.Call{Verb: applytest.VerbApply}
	forced := applytest.Call{Verb: applytest.VerbApply, Forced: true}
	for _, tc := range []struct {
		reason       string
		first, later applytest.Fault
		shadowed     bool
	}{
		{"the same calls", always(applytest.Forbidden(), get), applytest.Fault{Call: get, Answer: applytest.NotFound()}, true},
		{"all calls", always(applytest.Forbidden(), applytest.Call{}), applytest.Fault{Call: forced, Answer: applytest.StaleWrite(), Skip: 3}, true},
		{"all that fit", always(applytest.TooLarge(), applytest.Call{}), applytest.Fault{Answer: applytest.UnknownField(".a")}, true},
		{"other calls", always(applytest.Forbidden(), get), applytest.Fault{Call: apply, Answer: applytest.NotFound()}, false},
		{"some calls", always(applytest.Forbidden(), forced), applytest.Fault{Call: apply, Answer: applytest.NotFound()}, false},
		{"some that fit", always(applytest.UnknownField(".a"), applytest.Call{}), applytest.Fault{Answer: applytest.TooLarge()}, false},
		{"once", applytest.Fault{Call: get, Answer: applytest.Forbidden()}, applytest.Fault{Call: get, Answer: applytest.NotFound()}, false},
		{"some remain before", applytest.Fault{Answer: applytest.Forbidden(), Skip: 2, Times: applytest.Always}, applytest.Fault{Answer: applytest.NotFound(), Skip: 1}, false},
		{"others than it passes over", always(applytest.OwnershipConflict(hpa, ".a"), apply), applytest.Fault{Call: apply, Answer: applytest.OwnershipConflict(hpa, ".b")}, false},
	} {
		got := stops(t, func(t *testingT) { applytest.Inject(t, fakeClient(), tc.first, tc.later) })
		if shadowed := strings.Contains(got, "fault 2 of 2") && strings.Contains(got, "can never happen: fault 1, "); shadowed != tc.shadowed {
			t.Errorf("%s: %q, want refused: %v", tc.reason, got, tc.shadowed)
		}
	}
}

// An unused fault says which others were given to its calls.
func TestUnusedSaysWhoTookTheCalls(t *testing.T) {
	inner := &testingT{TB: t}
	c := applytest.Inject(inner, fakeClient(),
		applytest.Fault{Call: applytest.Call{Kind: "Deployment"}, Answer: applytest.Forbidden(), Times: applytest.Always},
		applytest.Fault{Call: applytest.Call{Verb: applytest.VerbGet}, Answer: applytest.NotFound()})
	for range 2 {
		_ = c.Get(t.Context(), client.ObjectKeyFromObject(web()), &appsv1.Deployment{})
	}
	inner.end()
	want := "NotFound for get: given 0 times of 1, 2 calls matched; fault 1 answered 2 of them"
	if got := strings.Join(inner.failures, ""); !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A fault that no call matches lists those that were made.
func TestUnmatchedFaults(t *testing.T) {
	get := func(c client.Client, name string) {
		_ = c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, &appsv1.Deployment{})
	}
	for reason, tc := range map[string]struct {
		kind string
		call func(client.Client)
		want string
	}{
		"nothing happened":         {"Deployment", func(client.Client) {}, "0 calls matched; no call was made"},
		"a resource":               {"deployments", func(c client.Client) { get(c, "web") }, `Kind "deployments" is written "Deployment"; the calls`},
		"in small letters":         {"deployment", func(c client.Client) { get(c, "web") }, `Kind "deployment" is written "Deployment"; the calls`},
		"another one":              {"Pod", func(c client.Client) { get(c, "web") }, "matched; the calls that were made:\n  get Deployment shop/web"},
		"a subresource":            {"Pod", func(c client.Client) { _ = c.Status().Update(t.Context(), web()) }, "\n  update Deployment/status shop/web"},
		"the kind of another verb": {"Deployment", func(c client.Client) { get(c, "web") }, "matched; the calls"},
		"many": {"Pod", func(c client.Client) {
			for i := range 23 {
				get(c, fmt.Sprintf("web-%d", i))
			}
		}, "\n  get Deployment shop/web-19\n  and 3 others"},
	} {
		t.Run(reason, func(t *testing.T) {
			inner := &testingT{TB: t}
			tc.call(applytest.Inject(inner, fakeClient(), applytest.Fault{
				Call: applytest.Call{Verb: applytest.VerbApply, Kind: tc.kind}, Answer: applytest.Forbidden(),
			}))
			inner.end()
			if got := strings.Join(inner.failures, ""); !strings.Contains(got, tc.want) {
				t.Errorf("%q, want %q in it", got, tc.want)
			}
		})
	}
}
