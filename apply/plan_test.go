package apply_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
)

// dryRunOnly holds that every write is a dry run, and hides that from the script.
type dryRunOnly struct {
	t    *testing.T
	next http.RoundTripper
}

func (d dryRunOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		request = request.Clone(request.Context())
		query := request.URL.Query()
		if query.Get("dryRun") != "All" {
			d.t.Errorf("%s without dryRun", request.Method)
		}
		query.Del("dryRun")
		request.URL.RawQuery = query.Encode()
	}
	return d.next.RoundTrip(request)
}

func (s *script) planner(config apply.Config, recorded bool) *apply.Applier {
	rest := s.restConfig(recorded)
	rest.Wrap(func(next http.RoundTripper) http.RoundTripper { return dryRunOnly{s.t, next} })
	return s.applierOver(rest, config, nil)
}

// withReplicas is the deployment of which we own the replicas.
func ownedWith(uid, resourceVersion string, replicas int32) *appsv1.Deployment {
	d := web(uid, resourceVersion)
	d.Spec.Replicas = new(replicas)
	d.ManagedFields = append(d.ManagedFields[1:], entry(manager, "Apply", "", `{"f:spec":{"f:replicas":{}}}`))
	return d
}

func TestPlan(t *testing.T) {
	pinned := threeReplicas()
	pinned.WithUID("uid-0")
	forged := web("uid-1", "7")
	forged.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: manager, FieldsType: "FieldsV9"}}
	dryCreated := ownedWith("uid-9", "", 3)
	touched := ownedWith("uid-1", "7", 3)
	touched.ManagedFields[1] = entry(manager, "Apply", "", `{"f:spec":{".":{},"f:replicas":{}}}`)
	for reason, test := range map[string]struct {
		policy  apply.Policy
		intent  apply.Intent
		steps   []step
		want    apply.Action
		refused error
		err     error
	}{
		"created": {
			steps: []step{{"GET", notFound()}, {"PATCH", ok(dryCreated)}}, want: apply.Created,
		},
		"unchanged": {
			steps: []step{{"GET", ok(ownedWith("uid-1", "7", 3))}, {"PATCH", ok(ownedWith("uid-1", "7", 3))}}, want: apply.Unchanged,
		},
		"only the owner of a parent": {
			steps: []step{{"GET", ok(ownedWith("uid-1", "7", 3))}, {"PATCH", ok(touched)}}, want: apply.Configured,
		},
		"written between read and dry run, and it must exist": {
			intent: apply.Intent{Config: threeReplicas(), MustExist: true},
			steps: []step{
				{"GET", ok(ownedWith("uid-1", "7", 3))}, {"GET", ok(ownedWith("uid-1", "7", 3))}, {"PATCH uid=uid-1", ok(ownedWith("uid-1", "8", 4))},
				{"GET", ok(ownedWith("uid-2", "9", 4))}, {"GET", ok(ownedWith("uid-2", "9", 4))}, {"PATCH uid=uid-2", ok(ownedWith("uid-2", "9", 4))},
			},
			want: apply.Unchanged,
		},
		"written between read and dry run": {
			steps: []step{
				{"GET", ok(ownedWith("uid-1", "7", 3))}, {"PATCH", ok(ownedWith("uid-1", "8", 4))},
				{"GET", ok(ownedWith("uid-1", "8", 4))}, {"PATCH", ok(ownedWith("uid-1", "8", 4))},
			},
			want: apply.Unchanged,
		},
		"created between read and dry run": {
			steps: []step{
				{"GET", notFound()}, {"PATCH", ok(ownedWith("uid-1", "8", 3))},
				{"GET", ok(ownedWith("uid-1", "8", 3))}, {"PATCH", ok(ownedWith("uid-1", "8", 3))},
			},
			want: apply.Unchanged,
		},
		"forced as Apply does": {
			policy: force,
			steps: []step{
				{"GET", ok(web("uid-1", "7"))}, {"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
				{"PATCH", conflict(hpaReplicas)}, {"PATCH uid=uid-1 resourceVersion=7 force", ok(ownedWith("uid-1", "7", 3))},
			},
			want: apply.Configured,
		},
		"rejected": {
			steps: []step{
				{"GET", ok(web("uid-1", "7"))}, {"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
			},
			refused: apply.ErrConflict,
		},
		"recreated": {
			intent: apply.Intent{Config: pinned}, err: apply.ErrUIDMismatch,
			steps: []step{{"GET", ok(web("uid-1", "7"))}, {"PATCH uid=uid-0", otherUID()}},
		},
		"ours from birth": { // the server leaves the pin of the creation in its answer
			intent: apply.Intent{Config: threeReplicas(), Belongs: isBornOurs}, want: apply.Created,
			steps: []step{{"GET", notFound()}, {"GET", notFound()}, {"PATCH resourceVersion=1", created(bornOurs("uid-dry", "1"))}},
		},
		"ours from birth, and taken": {
			intent: apply.Intent{Config: threeReplicas(), Belongs: isBornOurs}, refused: apply.ErrNotOurs,
			steps: []step{{"GET", ok(web("uid-2", "7"))}, {"GET", ok(web("uid-2", "7"))}, {"GET", ok(web("uid-2", "7"))}},
		},
		"managed fields of ours that nobody can read": {
			err: apply.ErrRefused, steps: []step{{"GET", ok(forged)}, {"PATCH", ok(forged)}},
		},
		"such managed fields, which the answer does not have": {
			err: apply.ErrRefused, steps: []step{{"GET", ok(forged)}, {"PATCH", ok(ownedWith("uid-1", "7", 3))}},
		},
		"an answer with such managed fields": {
			err: apply.ErrRefused, steps: []step{{"GET", notFound()}, {"PATCH", ok(func() any { forged := *forged; forged.ResourceVersion = ""; return &forged }())}},
		},
		"refused":     {err: apply.ErrRefused, steps: []step{{"GET", notFound()}, {"PATCH", unknownReason("failed to create typed patch object: unknown field")}}},
		"no read":     {err: apply.ErrRetryable, steps: []step{{"GET", fail(apierrors.NewServiceUnavailable("no leader"))}}},
		"no name":     {intent: apply.Intent{Config: appsv1ac.Deployment("", "shop")}, err: apply.ErrInvalidIntent},
		"no dry runs": {err: apply.ErrRefused, steps: []step{{"GET", notFound()}, {"PATCH", fail(apierrors.NewBadRequest("a webhook has side effects"))}}},
	} {
		t.Run(reason, func(t *testing.T) {
			if test.intent.Config == nil {
				test.intent.Config = threeReplicas()
			}
			for _, recorded := range []bool{true, false} {
				seen := &observations{}
				s := newScript(t, test.steps)
				plan, err := s.planner(apply.Config{Policy: test.policy, Metrics: seen}, recorded).Plan(t.Context(), test.intent)
				if !errors.Is(err, test.err) || test.err == nil && err != nil {
					t.Fatalf("error %v, want %v", err, test.err)
				}
				if plan.Action != test.want || !errors.Is(plan.Refused, test.refused) || test.refused == nil && plan.Refused != nil {
					t.Errorf("planned %q (%v), want %q (%v)", plan.Action, plan.Refused, test.want, test.refused)
				}
				if len(seen.results) > 0 {
					t.Errorf("observed as %v", seen.results)
				}
			}
		})
	}
}

func TestPlanTellsOfTheObjectItMeans(t *testing.T) {
	s := newScript(t, []step{{"GET", ok(ownedWith("uid-1", "7", 4))}, {"PATCH", ok(ownedWith("uid-1", "7", 3))}})
	plan, err := s.planner(apply.Config{}, true).Plan(t.Context(), apply.Intent{Config: threeReplicas()})
	if err != nil {
		t.Fatal(err)
	}
	want := webAt("uid-1")
	want.ResourceVersion = "7"
	if diff := cmp.Diff(want, plan.Object); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
}
