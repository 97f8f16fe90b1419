package applytest_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/applytest"
)

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
			if got := strings.Join(inner.failures, ""); !strings.Contains(got, tc.want) || strings.Count(got, "\n") > 21 {
				t.Errorf("%q, want %q in it", got, tc.want)
			}
		})
	}
}
