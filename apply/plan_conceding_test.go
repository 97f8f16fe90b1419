package apply_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
)

// withDryRuns is an applier that may plan and apply. What is a dry run is hidden from the script.
func (s *script) withDryRuns(config apply.Config) *apply.Applier {
	rest := s.restConfig(true)
	rest.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			request = request.Clone(request.Context())
			query := request.URL.Query()
			query.Del("dryRun")
			request.URL.RawQuery = query.Encode()
			return next.RoundTrip(request)
		})
	})
	return s.applierOver(rest, config, nil)
}

// TestPlanAfterGivingWay: a plan shows each conflict, whatever an Apply has reported.
func TestPlanAfterGivingWay(t *testing.T) {
	read, refused := step{"GET", ok(web("uid-1", "8"))}, step{"PATCH", conflict(hpaReplicas)}
	left := step{"PATCH uid=uid-1", ok(web("uid-1", "8"))}
	both := step{"PATCH", conflict(hpaReplicas, kubectlPause)}
	policy := relinquish.At(".spec.paused", apply.Reject)
	const plans, applies = true, false
	for reason, c := range map[string]struct {
		planned *appsv1ac.DeploymentApplyConfiguration
		order   []bool
		steps   []step
		want    []string // conflicts of the plan
	}{
		"after an Apply": {
			threeReplicas(), []bool{applies, plans, applies},
			append(gaveWay(), read, refused, read, left, read, left), []string{relinquishedReplicas},
		},
		"before the first Apply": {
			threeReplicas(), []bool{plans, applies},
			append([]step{read, refused, read, left}, gaveWay()...), []string{relinquishedReplicas},
		},
		"of what is rejected": {
			replicasAndPause(), []bool{applies, plans, applies},
			append(gaveWay(), read, both, read, read, left), []string{"Reject .spec.paused to false: owned by kubectl/Apply with true", relinquishedReplicas},
		},
	} {
		t.Run(reason, func(t *testing.T) {
			applier := newScript(t, c.steps).withDryRuns(apply.Config{Policy: policy})
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
		})
	}
}

// TestPlanOfAScale has the values of the Scale.
func TestPlanOfAScale(t *testing.T) {
	after := scaleOf("uid-1", "7")
	after["spec"] = map[string]any{"replicas": 3}
	for _, recorded := range []bool{true, false} {
		s := newScript(t, []step{{"GET", at("/scale", ok(scaleOf("uid-1", "7")))}, {"PATCH", at("/scale", ok(after))}})
		plan, err := s.planner(apply.Config{}, recorded).Plan(t.Context(), scaleIntent())
		if err != nil || plan.Action != apply.Configured || !strings.Contains(plan.String(), ".spec.replicas: 5 -> 3") {
			t.Errorf("requests recorded: %t: %v, %v", recorded, plan, err)
		}
	}
}

// TestPlanOfAnAbsentObject has no uid, whatever the intent names.
func TestPlanOfAnAbsentObject(t *testing.T) {
	s := newScript(t, []step{{"GET", notFound()}, {"GET", notFound()}})
	plan, err := s.planner(apply.Config{}, true).Plan(t.Context(), apply.Intent{Config: threeReplicas(), UID: "uid-1", MustExist: true})
	if err != nil || plan.Action != apply.Absent || plan.Object.UID != "" || plan.Refused != nil {
		t.Errorf("%+v, %v", plan, err)
	}
}
