package apply_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
)

func scaleIntent() apply.Intent {
	return apply.Intent{Config: appsv1ac.Deployment("web", "shop"), Subresource: "scale", Body: scale(3)}
}

// TestScaleGivesWay: a Scale does not show who owns it. It gives way as the server says, each
// time anew.
func TestScaleGivesWay(t *testing.T) {
	round := []string{"PATCH /scale", "GET /scale", "PATCH /scale uid"}
	for reason, c := range map[string]struct {
		policy  apply.Policy
		happens func(*world)
		sent    []string
		last    string // is sent at last
		want    string
	}{
		"relinquished": {relinquish, nil, append(round, round...), `"uid":"UID"}}`, relinquishedReplicas},
		"shared":       {share, nil, append(round, round...), `"replicas":5`, sharedReplicas},
		"shared, and moved on": {
			share, before(3, scaled(6)), append(round, "GET /scale", "PATCH /scale", "PATCH /scale uid"), `"replicas":6`,
			"Share .spec.replicas to 3: owned by hpa/Update[scale] with value 6",
		},
	} {
		t.Run(reason, func(t *testing.T) {
			w, times := newWorld(t), 2
			if c.happens != nil {
				c.happens(w)
				times = 1
			}
			applier := w.applier(c.policy)
			for range times {
				outcome, err := applier.Apply(t.Context(), scaleIntent())
				if diff := cmp.Diff([]string{c.want}, texts(outcome.Conflicts)); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
				if got := canonical(t, w.LastBody()); !strings.Contains(got, strings.Replace(c.last, "UID", string(w.Live().UID), 1)) {
					t.Errorf("sent %s, want %s", got, c.last)
				}
			}
			w.WantSent(c.sent...)
		})
	}
}

// statusOwned has a status of 5 replicas that a manager owns.
func statusOwned(owner metav1.ManagedFieldsEntry) func(*world) {
	return func(w *world) {
		web := w.Live()
		web.Status.Replicas = 5
		w.Must(w.Status().Update(w.Context(), web))
		owned(hpa, kubectl, owner)(w)
	}
}

const statusReplicas = `{"f:status":{"f:replicas":{}}}`

// TestSharedStatus: who shares a field through a subresource is no owner to whom the
// intent gives way.
func TestSharedStatus(t *testing.T) {
	w := newWorld(t)
	statusOwned(entry("hpa", "Update", "status", statusReplicas))(w)
	applier := w.applier(share)
	for range 2 {
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: statusOf(1), Subresource: "status"})
		if err != nil || len(outcome.Conflicts) != 1 {
			t.Errorf("%v, %v", texts(outcome.Conflicts), err)
		}
	}
	w.WantSent("PATCH /status", read, pinnedStatus, read, pinnedStatus)
}

// TestStatusWithoutRecordExchange tells which object it was.
func TestStatusWithoutRecordExchange(t *testing.T) {
	w := newWorld(t)
	w.unseen = true
	config := loose(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "status": map[string]any{"replicas": 1},
		"metadata": map[string]any{"name": "web", "namespace": "shop"}})
	outcome, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: config, Subresource: "status"})
	if live := w.Live(); err != nil || outcome.Object.UID != live.UID || outcome.Object.ResourceVersion != live.ResourceVersion {
		t.Errorf("%+v, %v", outcome.Object, err)
	}
}
