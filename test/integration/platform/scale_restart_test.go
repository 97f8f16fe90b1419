package platform

import (
	"fmt"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/test/kit"
)

// wantSilentRestart stops the manager and starts it anew on the same objects. It
// reconciles each of them, remembers nothing of what was written before, and sends
// nothing.
func wantSilentRestart(t *testing.T, p *kit.Platform, of size, restConfig *rest.Config, stop func()) {
	t.Helper()
	addRest(t, p)
	stop()
	p.Writes.Take()
	p.Applies.Take()
	p.Applies.TakeUpdates()
	p.Run(t, restConfig, apply.Force)
	applied, updated := untilReconciled(t, p, of)

	if sent := p.Writes.Take(); len(sent) > 0 {
		t.Errorf("a restart costs %d write requests: %v", len(sent), byVerb(sent))
	}
	for _, o := range applied {
		if o.Result != string(apply.Unchanged) || o.Requests != 0 || o.Attempts != 0 {
			t.Errorf("after a restart: %+v, want Unchanged without a request", o)
		}
	}
	for _, o := range updated {
		if o.Result != "Success" || o.Attempts != 0 {
			t.Errorf("after a restart: %+v, want Success without an attempt", o)
		}
	}
}

// addRest adds one object of each kind that the platform at scale does without.
func addRest(t *testing.T, p *kit.Platform) {
	t.Helper()
	slurm := &v1alpha1.SlurmController{Spec: v1alpha1.SlurmControllerSpec{Image: "registry.example.com/slurmctld:1"}}
	slurm.Name, slurm.Namespace = "main", scaleNamespace
	work := &v1alpha1.NodeMaintenance{Spec: v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Uncordon, NodeSelector: &v1alpha1.NodeSelector{
		MatchLabels: map[string]v1alpha1.LabelValue{corev1.LabelOSStable: "linux"},
	}}}
	work.Name = "uncordon"
	for _, object := range []client.Object{slurm, work} {
		if err := p.Client.Create(t.Context(), object, client.FieldOwner("person")); err != nil {
			t.Fatal(err)
		}
	}
	kit.WaitFor(t, "both are done", func() string {
		for _, object := range []client.Object{slurm, work} {
			if err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				return err.Error()
			}
		}
		if work.Status.CompletionTime == nil || !meta.IsStatusConditionTrue(slurm.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Sprint(slurm.Status, work.Status)
		}
		return ""
	})
	p.Quiet(t, 3*time.Second)
}

// untilReconciled waits until each object was reconciled by each of its reconcilers,
// and then until nothing more is observed.
func untilReconciled(t *testing.T, p *kit.Platform, of size) (applied []apply.ApplyObservation, updated []apply.UpdateObservation) {
	t.Helper()
	want, observed := reconciles(of), map[string]int{}
	rest := 3 * time.Second
	deadline, last := time.Now().Add(of.patience), time.Now()
	for len(want) > 0 || time.Since(last) < rest {
		time.Sleep(100 * time.Millisecond)
		moreApplied, moreUpdated := p.Applies.Take(), p.Applies.TakeUpdates()
		for _, o := range moreApplied {
			observed[o.FieldManager+" "+o.Kind.Kind]++
		}
		for _, o := range moreUpdated {
			observed[o.FieldManager+" "+o.Kind.Kind]++
		}
		if len(moreApplied)+len(moreUpdated) > 0 {
			last = time.Now()
		}
		applied, updated = append(applied, moreApplied...), append(updated, moreUpdated...)
		maps.DeleteFunc(want, func(what string, n int) bool { return observed[what] >= n })
		if time.Now().After(deadline) {
			t.Fatalf("after a restart %v are missing, observed were %v", want, observed)
		}
	}
	t.Logf("a restart: %v", observed)
	return applied, updated
}

// reconciles says how often each manager looks at least, once each, whether there is
// something to write to a kind. A NodeMaintenance that is done rests: its reconciler
// does not even look. A NodeSet looks at its pods itself, and applies those alone that
// are not as wanted.
func reconciles(of size) map[string]int {
	boxes := of.users * of.boxesPerUser
	return map[string]int{
		fieldmanagers.DevboxWorkload + " Devbox":           boxes,
		fieldmanagers.DevboxWorkload + " Deployment":       boxes,
		fieldmanagers.DevboxPower + " Devbox":              boxes,
		fieldmanagers.DevboxPower + " Deployment":          boxes,
		fieldmanagers.DevboxNetwork + " Devbox":            boxes,
		fieldmanagers.DevboxNetwork + " Service":           boxes,
		fieldmanagers.DevboxContent + " Devbox":            boxes,
		fieldmanagers.User + " User":                       of.users,
		fieldmanagers.User + " Namespace":                  of.users,
		fieldmanagers.User + " ServiceAccount":             of.users,
		fieldmanagers.User + " RoleBinding":                of.users,
		fieldmanagers.License + " License":                 of.users,
		fieldmanagers.License + " Namespace":               of.users,
		fieldmanagers.License + " ResourceQuota":           of.users,
		fieldmanagers.SlurmController + " SlurmController": 1,
		fieldmanagers.SlurmController + " Service":         1,
		fieldmanagers.SlurmController + " StatefulSet":     1,
		fieldmanagers.NodeSet + " NodeSet":                 1,
	}
}
