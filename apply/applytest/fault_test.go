package applytest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/applytest"
	"coapply.dev/fieldowners"
)

func TestFaultsAreValidated(t *testing.T) {
	manager := fieldowners.Manager{Name: "m"}
	for reason, tc := range map[string]struct {
		fault applytest.Fault
		want  string
	}{
		"no answer":              {applytest.Fault{}, "Answer: it is empty"},
		"no such verb":           {applytest.Fault{Answer: applytest.Forbidden(), Call: applytest.Call{Verb: "post"}}, `"post" is none of`},
		"a client has no watch":  {applytest.Fault{Answer: applytest.Forbidden(), Call: applytest.Call{Verb: applytest.VerbWatch}}, `"watch" is none of`},
		"a read is never stale":  {applytest.Fault{Answer: applytest.StaleWrite(), Call: applytest.Call{Verb: applytest.VerbGet}}, "no server answers StaleWrite to get"},
		"no update is forced":    {applytest.Fault{Answer: applytest.Forbidden(), Call: applytest.Call{Verb: applytest.VerbUpdate, Forced: true}}, "no update is forced"},
		"no get is dry":          {applytest.Fault{Answer: applytest.Forbidden(), Call: applytest.Call{Verb: applytest.VerbGet, DryRun: true}}, "no get is a dry run"},
		"a list has no name":     {applytest.Fault{Answer: applytest.Forbidden(), Call: applytest.Call{Verb: applytest.VerbList, Name: "web"}}, "a list names no object"},
		"nor has a clearance":    {applytest.Fault{Answer: applytest.Forbidden(), Call: applytest.Call{Verb: applytest.VerbDeleteCollection, Name: "web"}}, "names no object"},
		"none has a status":      {applytest.Fault{Answer: applytest.Forbidden(), Call: applytest.Call{Verb: applytest.VerbDelete, Subresource: "status"}}, "no delete of one"},
		"nothing is invalid":     {applytest.Fault{Answer: applytest.Invalid("", "no")}, `Invalid("", "no"): a field`},
		"no reason to be":        {applytest.Fault{Answer: applytest.Invalid("spec", "")}, `Invalid("spec", ""): a field`},
		"no field is unknown":    {applytest.Fault{Answer: applytest.UnknownField(".")}, `UnknownField("."): a field`},
		"force meets no owner":   {applytest.Fault{Answer: applytest.OwnershipConflict(manager, ".a"), Call: applytest.Call{Forced: true}}, "to forced any call"},
		"negative skip":          {applytest.Fault{Answer: applytest.Forbidden(), Skip: -1}, "Skip: -1"},
		"negative times":         {applytest.Fault{Answer: applytest.Forbidden(), Times: -2}, "Times: -2"},
		"nobody to conflict":     {applytest.Fault{Answer: applytest.OwnershipConflict(fieldowners.Manager{}, ".a")}, "has no name"},
		"no field to conflict":   {applytest.Fault{Answer: applytest.OwnershipConflict(manager)}, "a path is needed"},
		"the whole object":       {applytest.Fault{Answer: applytest.OwnershipConflict(manager, "")}, "OwnershipConflict: "},
		"no path":                {applytest.Fault{Answer: applytest.OwnershipConflict(manager, ".a[")}, `path ".a["`},
		"updater without a kind": {applytest.Fault{Answer: applytest.OwnershipConflict(fieldowners.Manager{Name: "m", Operation: "Update"}, ".a")}, "APIVersion"},
		"no such operation":      {applytest.Fault{Answer: applytest.OwnershipConflict(fieldowners.Manager{Name: "m", Operation: "Own"}, ".a")}, `"Own"`},
		"no second":              {applytest.Fault{Answer: applytest.TooManyRequests(0)}, "whole seconds"},
		"half a second":          {applytest.Fault{Answer: applytest.TooManyRequests(time.Second / 2)}, "whole seconds"},
		"no error":               {applytest.Fault{Answer: applytest.Fails(nil)}, "an error is needed"},
	} {
		t.Run(reason, func(t *testing.T) {
			got := stops(t, func(t *testingT) {
				applytest.Inject(t, fakeClient(), applytest.Fault{Answer: applytest.Forbidden()}, tc.fault)
			})
			if !strings.Contains(got, tc.want) || !strings.Contains(got, "fault 2 of 2") {
				t.Errorf("%q, want %q in it", got, tc.want)
			}
		})
	}
	if got := stops(t, func(t *testingT) { applytest.Inject(t, nil) }); !strings.Contains(got, "needs a client") {
		t.Errorf("no client: %q", got)
	}
}

// stops returns the message that the call stopped its test with.
func stops(t *testing.T, call func(*testingT)) (message string) {
	t.Helper()
	defer func() { message = fmt.Sprint(recover()) }()
	call(&testingT{TB: t})
	return ""
}

// TestWhichCallIsMet makes four gets and tells which failed.
func TestWhichCallIsMet(t *testing.T) {
	one, two := applytest.Fails(errors.New("one")), applytest.Fails(errors.New("two"))
	for reason, tc := range map[string]struct {
		faults []applytest.Fault
		want   string // of each call
	}{
		"the first":                    {[]applytest.Fault{{Answer: one}}, "one - - -"},
		"after two":                    {[]applytest.Fault{{Answer: one, Skip: 2}}, "- - one -"},
		"two times":                    {[]applytest.Fault{{Answer: one, Times: 2}}, "one one - -"},
		"always":                       {[]applytest.Fault{{Answer: one, Skip: 1, Times: applytest.Always}}, "- one one one"},
		"one after the other":          {[]applytest.Fault{{Answer: one, Times: 2}, {Answer: two}}, "one one two -"},
		"skipping counts met calls":    {[]applytest.Fault{{Answer: one}, {Answer: two, Skip: 2}}, "one - two -"},
		"the first listed that is due": {[]applytest.Fault{{Answer: one, Skip: 1}, {Answer: two, Times: 2}}, "two one two -"},
		"of another kind":              {[]applytest.Fault{{Call: applytest.Call{Kind: "Pod"}, Answer: one}}, "- - - -"},
		"of another name":              {[]applytest.Fault{{Call: applytest.Call{Name: "api"}, Answer: one}}, "- - - -"},
		"of another namespace":         {[]applytest.Fault{{Call: applytest.Call{Namespace: "x"}, Answer: one}}, "- - - -"},
		"of another verb":              {[]applytest.Fault{{Call: applytest.Call{Verb: applytest.VerbList}, Answer: one}}, "- - - -"},
		"of a subresource":             {[]applytest.Fault{{Call: applytest.Call{Subresource: "scale"}, Answer: one}}, "- - - -"},
		"of a dry run":                 {[]applytest.Fault{{Call: applytest.Call{DryRun: true}, Answer: one}}, "- - - -"},
		"all parts":                    {[]applytest.Fault{{Call: applytest.Call{Verb: "get", Kind: "Deployment", Namespace: "shop", Name: "web"}, Answer: one}}, "one - - -"},
		"an answer that is for writes": {[]applytest.Fault{{Answer: applytest.StaleWrite()}}, "- - - -"},
	} {
		t.Run(reason, func(t *testing.T) {
			c := applytest.Inject(&testingT{TB: t}, fakeClient(), tc.faults...)
			var got []string
			for range 4 {
				err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &appsv1.Deployment{})
				if err == nil {
					err = errors.New("-")
				}
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			met := 4 - strings.Count(tc.want, "-")
			if c.Given() != met {
				t.Errorf("%d given, want %d", c.Given(), met)
			}
		})
	}
}

func TestUnusedFaultsFailTheTest(t *testing.T) {
	inner := &testingT{TB: t}
	c := applytest.Inject(inner, fakeClient(),
		applytest.Fault{Call: applytest.Call{Verb: applytest.VerbGet}, Answer: applytest.Forbidden(), Skip: 1, Times: 3},
		applytest.Fault{Call: applytest.Call{Verb: applytest.VerbList}, Answer: applytest.Forbidden(), Times: applytest.Always},
		applytest.Fault{
			Call:   applytest.Call{Verb: applytest.VerbApply, Kind: "Deployment", Namespace: "shop", Name: "web", Subresource: "status", Forced: true, DryRun: true},
			Answer: applytest.Forbidden(),
		})
	for range 2 {
		_ = c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &appsv1.Deployment{})
	}
	inner.end()
	made := "; the calls that were made:\n  get Deployment shop/web ×2"
	want := []string{
		"applytest: a fault did not happen: Forbidden for get, after 1: given 1 times of 3, 2 calls matched",
		"applytest: a fault did not happen: Forbidden for list: given 0 times of at least 1, 0 calls matched" + made,
		"applytest: a fault did not happen: Forbidden for dry run of forced apply Deployment/status shop/web: given 0 times of 1, 0 calls matched" + made,
	}
	if diff := cmp.Diff(want, inner.failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}

	inner = &testingT{TB: t}
	c = applytest.Inject(inner, fakeClient(), applytest.Fault{Answer: applytest.Forbidden(), Times: applytest.Always})
	_ = c.List(t.Context(), &corev1.PodList{})
	if inner.end(); len(inner.failures) > 0 {
		t.Errorf("a fault that happened fails the test: %q", inner.failures)
	}
}
