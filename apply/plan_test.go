package apply_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
)

// Dry runs of a plan.
const (
	tries       = "dry run, " + whole
	triesPinned = "dry run, " + pinned
	triesForce  = "dry run, " + forces
)

func TestPlan(t *testing.T) {
	mustExist := apply.Intent{Config: threeReplicas(), MustExist: true}
	create, born := apply.Intent{Config: wholeWeb()}, apply.Intent{Config: bornWeb(), Belongs: isBornOurs}
	unknown := loose(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec": map[string]any{"x": "y"}})
	forgedOurs := owned(entry(manager, "Apply", "", deep(`,"f:spec":{"f:replicas":{}}`)))
	for reason, test := range map[string]struct {
		policy  apply.Policy
		intent  apply.Intent
		happens func(*world)
		sent    []string
		want    apply.Action
		refused error
		err     error
	}{
		"created":   {intent: create, happens: removed, sent: []string{read, tries}, want: apply.Created},
		"unchanged": {happens: appliedNow, sent: []string{read, tries}, want: apply.Unchanged},
		"only an owner": {
			intent: apply.Intent{Config: appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().WithPaused(true))},
			sent:   []string{read, tries}, want: apply.Configured,
		},
		"written between read and dry run, and it must exist": {
			intent: mustExist, happens: allOf(appliedNow, before(3, touched)), want: apply.Unchanged,
			sent: []string{read, read, triesPinned, read, read, triesPinned},
		},
		"written between read and dry run": {
			happens: allOf(appliedNow, before(2, touched)), sent: []string{read, tries, read, tries}, want: apply.Unchanged,
		},
		"created between read and dry run": {
			intent: create, happens: allOf(removed, before(2, othersAppear)), sent: []string{read, tries, read, tries}, want: apply.Configured,
		},
		"forced as Apply does": {policy: force, sent: []string{read, tries, read, tries, triesForce}, want: apply.Configured},
		"rejected":             {sent: []string{read, tries, read}, refused: apply.ErrConflict},
		"recreated": {
			intent: apply.Intent{Config: threeReplicas(), UID: "uid-0"}, happens: alone, sent: []string{read, triesPinned}, err: apply.ErrUIDMismatch,
		},
		"ours from birth":                             {intent: born, happens: removed, sent: []string{read, read, "dry run, " + exclusive}, want: apply.Created},
		"ours from birth, and taken":                  {intent: born, sent: []string{read, read, read}, refused: apply.ErrNotOurs},
		"managed fields of ours that nobody can read": {happens: forgedOurs, sent: []string{read, tries}, err: apply.ErrRefused},
		"refused": {intent: apply.Intent{Config: unknown}, happens: removed, sent: []string{read, tries}, err: apply.ErrRefused},
		"no read": {happens: fails(1, unavailable), sent: []string{read}, err: apply.ErrRetryable},
		"no name": {intent: apply.Intent{Config: appsv1ac.Deployment("", "shop")}, err: apply.ErrInvalidIntent},
		"no dry runs": {
			happens: fails(2, apierrors.NewBadRequest("a webhook has side effects")), sent: []string{read, tries}, err: apply.ErrRefused,
		},
	} {
		t.Run(reason, func(t *testing.T) {
			if test.intent.Config == nil {
				test.intent.Config = threeReplicas()
			}
			for _, unseen := range []bool{false, true} {
				seen := &observations{}
				w := newWorld(t)
				w.unseen = unseen
				if test.happens != nil {
					test.happens(w)
				}
				plan, err := w.applierOf(apply.Config{Policy: test.policy, Metrics: seen}).Plan(t.Context(), test.intent)
				if !errors.Is(err, test.err) || test.err == nil && err != nil {
					t.Fatalf("error %v, want %v", err, test.err)
				}
				if plan.Action != test.want || !errors.Is(plan.Refused, test.refused) || test.refused == nil && plan.Refused != nil {
					t.Errorf("planned %q (%v), want %q (%v)", plan.Action, plan.Refused, test.want, test.refused)
				}
				if len(seen.results) > 0 {
					t.Errorf("observed as %v", seen.results)
				}
				w.WantSent(test.sent...)
			}
		})
	}
}

func TestPlanTellsOfTheObjectItMeans(t *testing.T) {
	w := newWorld(t)
	appliedNow(w)
	plan, err := w.applier(apply.Policy{}).Plan(t.Context(), apply.Intent{Config: threeReplicas()})
	if err != nil {
		t.Fatal(err)
	}
	want := webAt(w.Live().UID)
	want.ResourceVersion = w.Live().ResourceVersion
	if diff := cmp.Diff(want, plan.Object); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
}

// TestPlanContended has other writers write before each dry run.
func TestPlanContended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		appliedNow(w)
		for i := range 8 {
			before(2+2*i, touched)(w)
		}
		plan, err := w.applier(apply.Policy{}).Plan(t.Context(), apply.Intent{Config: threeReplicas()})
		contended, ok := errors.AsType[*apply.ContendedError](err)
		if !ok || contended.Attempts != 8 || !strings.Contains(err.Error(), "fake client") {
			t.Errorf("%v, want a ContendedError after 8 dry runs that tells of clients without", err)
		}
		if got := plan.String(); got != "nothing was planned\n" {
			t.Errorf("the plan says %q", got)
		}
	})
}

// TestPlanOfANameOnly creates an object with nothing in it.
func TestPlanOfANameOnly(t *testing.T) {
	w := newEmptyWorld(t)
	plan, err := w.applier(apply.Policy{}).Plan(t.Context(), apply.Intent{Config: corev1ac.ConfigMap("web", "shop")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("ConfigMap shop/web: would be created by coapply-test\n", plan.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPlanAfterGivingWay: a plan shows each conflict, whatever an Apply has reported.
func TestPlanAfterGivingWay(t *testing.T) {
	const plans, applies = true, false
	gaveWay := []string{whole, read, pinned}
	policy := relinquish.At(".spec.paused", apply.Reject)
	for reason, c := range map[string]struct {
		planned *appsv1ac.DeploymentApplyConfiguration
		order   []bool
		sent    []string
		want    []string // conflicts of the plan
	}{
		"after an Apply": {
			threeReplicas(), []bool{applies, plans, applies},
			append(gaveWay, read, tries, read, triesPinned, read, pinned), []string{relinquishedReplicas},
		},
		"before the first Apply": {
			threeReplicas(), []bool{plans, applies},
			append([]string{read, tries, read, triesPinned}, gaveWay...), []string{relinquishedReplicas},
		},
		"of what is rejected": {
			replicasAndPause(), []bool{applies, plans, applies},
			append(gaveWay, read, tries, read, read, pinned), []string{"Reject .spec.paused to false: owned by kubectl/Apply with value true", relinquishedReplicas},
		},
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t)
			applier := w.applier(policy)
			for _, plans := range c.order {
				if !plans {
					if _, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()}); err != nil {
						t.Fatal(err)
					}
					continue
				}
				plan, err := applier.Plan(t.Context(), apply.Intent{Config: c.planned})
				if diff := cmp.Diff(c.want, texts(plan.Conflicts)); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			}
			w.WantSent(c.sent...)
		})
	}
}

// TestPlanOfAScale has the values of the Scale.
func TestPlanOfAScale(t *testing.T) {
	for _, unseen := range []bool{false, true} {
		w := newWorld(t, entriesOf("scale")[1:]...)
		w.unseen = unseen
		plan, err := w.applier(apply.Policy{}).Plan(t.Context(), scaleIntent())
		if err != nil || plan.Action != apply.Configured || !strings.Contains(plan.String(), ".spec.replicas: 5 -> 3") {
			t.Errorf("without RecordExchange: %t: %v, %v", unseen, plan, err)
		}
		w.WantSent("GET /scale", "dry run, PATCH /scale")
	}
}

// TestPlanWithoutAnObject has no uid, whatever the intent names.
func TestPlanWithoutAnObject(t *testing.T) {
	for reason, c := range map[string]struct {
		intent apply.Intent
		sent   []string
	}{
		"it must exist": {apply.Intent{Config: threeReplicas(), UID: "uid-1", MustExist: true}, []string{read, read}},
		"a subresource": {apply.Intent{Config: statusOf(1), Subresource: "status"}, []string{read, "dry run, PATCH /status", read}},
	} {
		w := newEmptyWorld(t)
		plan, err := w.applier(apply.Policy{}).Plan(t.Context(), c.intent)
		if err != nil || plan.Action != apply.Absent || plan.Object.UID != "" || plan.Refused != nil {
			t.Errorf("%s: %+v, %v", reason, plan, err)
		}
		w.WantSent(c.sent...)
	}
}

// observations keeps the results observed.
type observations struct {
	ignoredUpdates

	results []string
}

func (o *observations) ObserveApply(seen apply.ApplyObservation) {
	o.results = append(o.results, seen.Result)
}
