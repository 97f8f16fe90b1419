package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// startOn runs the reconcilers of namespaced kinds on an API server without the controllers of Kubernetes, whose
// namespaces are never emptied.
func startOn(t *testing.T, config *rest.Config) *kit.Platform {
	t.Helper()
	p := &kit.Platform{Client: kit.NewClient(t, config)}
	p.Namespace = kit.NewNamespace(t, p.Client)
	p.Run(t, config, apply.Force)
	return p
}

func createSlurm(t *testing.T, p *kit.Platform, name string) {
	t.Helper()
	if err := p.Client.Create(t.Context(), &v1alpha1.SlurmController{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name},
		Spec: v1alpha1.SlurmControllerSpec{Image: "registry.example.com/slurmctld:1"}}); err != nil {
		t.Fatal(err)
	}
}

// waitForCondition waits until a condition of this generation has a status, and a reason and message that say all that.
func waitForCondition(t *testing.T, p *kit.Platform, object client.Object, name, condition string, status metav1.ConditionStatus, says ...string) {
	t.Helper()
	kit.WaitFor(t, fmt.Sprintf("%s of %s is %s", condition, name, status), func() string {
		p.Get(t, name, object)
		var conditions []metav1.Condition
		switch object := object.(type) {
		case *v1alpha1.Devbox:
			conditions = object.Status.Conditions
		case *v1alpha1.NodeSet:
			conditions = object.Status.Conditions
		case *v1alpha1.SlurmController:
			conditions = object.Status.Conditions
		}
		is := meta.FindStatusCondition(conditions, condition)
		if is == nil || is.Status != status || is.ObservedGeneration != object.GetGeneration() {
			return is.String()
		}
		for _, text := range says {
			if !strings.Contains(is.Reason+": "+is.Message, text) {
				return fmt.Sprintf("it does not say %q: %s: %s", text, is.Reason, is.Message)
			}
		}
		return ""
	})
}

// writesIn counts the writes to paths that contain a text while nothing happens that ours could answer.
func writesIn(t *testing.T, p *kit.Platform, moment time.Duration, part string) int {
	t.Helper()
	before := len(p.Writes.About(part))
	kit.Absence(t, moment, "too many writes")
	return len(p.Writes.About(part)) - before
}

const forgers, fieldsEach = 200, 50

// TestForgedManagers: 200 field managers with 50 fields each claim fields of a Deployment of ours, a third of them at a
// version that no API server serves any more, which the server drops. What ours rejects is one condition and no further
// write, what it forces is its own, and once the entries are gone everything lands.
func TestForgedManagers(t *testing.T) {
	once(t)
	t.Parallel()
	p := startOn(t, kit.Server(t))
	p.Create(t, "x")
	kit.WaitFor(t, "the Devbox is applied", func() string {
		return kit.UnlessApplied(p.Get(t, "x", &v1alpha1.Devbox{}).(*v1alpha1.Devbox))
	})
	p.Quiet(t, quiet)
	before := len(p.Writes.About("/deployments/x"))
	forge(t, p, "x")
	forged := 0
	for _, entry := range p.Get(t, "x", &appsv1.Deployment{}).GetManagedFields() {
		if strings.HasPrefix(entry.Manager, "forged-") {
			forged++
		}
	}
	if want := forgers - forgers/3 - 1; forged != want {
		t.Errorf("the API server keeps %d of the forged managers, want %d", forged, want)
	}
	waitForCondition(t, p, &v1alpha1.Devbox{}, "x", v1alpha1.ConditionWorkloadApplied, metav1.ConditionTrue, "Applied", "")
	p.Quiet(t, quiet)
	if after := len(p.Writes.About("/deployments/x")); after > before {
		t.Errorf("%d writes to a Deployment that is as wanted", after-before)
	}

	p.Patch(t, &v1alpha1.Devbox{}, "x", `{"spec":{"image":"registry.example.com/dev:2"}}`)
	waitForCondition(t, p, &v1alpha1.Devbox{}, "x", v1alpha1.ConditionWorkloadApplied, metav1.ConditionFalse,
		"OwnershipConflict", `.spec.template.spec.containers[name="devbox"].image`, "forged-1/Apply")
	p.Quiet(t, quiet)
	rejected := writesIn(t, p, lasts, "/deployments/x")
	before = len(p.Writes.About("/deployments/x"))
	p.Patch(t, &v1alpha1.Devbox{}, "x", `{"spec":{"state":"Stopped"}}`)
	kit.WaitFor(t, "power has its field", func() string {
		owners, n := kit.OwnersOf(t, p.Client, p.Namespace, "x", ".spec.replicas"), kit.LiveReplicas(t, p.Client, p.Namespace, "x")
		if len(owners) != 1 || owners[0] != "coapply-devbox-power/Apply" || n != 0 {
			return fmt.Sprint(n, " replicas, owned by ", owners)
		}
		return ""
	})
	p.Quiet(t, quiet)
	forced := len(p.Writes.About("/deployments/x")) - before
	createSlurm(t, p, "y")
	waitForCondition(t, p, &v1alpha1.SlurmController{}, "y", v1alpha1.ConditionApplied, metav1.ConditionTrue)

	unforge(t, p, "x")
	waitForCondition(t, p, &v1alpha1.Devbox{}, "x", v1alpha1.ConditionWorkloadApplied, metav1.ConditionTrue)
	p.Quiet(t, quiet)
	told := len(p.Writes.About("/events"))
	count(t, "%d forged managers of %d fields: %d writes in %v while rejected, %d to force, %d events", forged, forged*fieldsEach, rejected, lasts, forced, told)
	if rejected > 1 || forced > 6 || told > 20 {
		t.Errorf("%d writes in %v while rejected, want 1 at most; %d to force, want 6 at most; %d events, want 20 at most", rejected, lasts, forced, told)
	}
}

// forge has many managers claim image and replicas of a Deployment, and annotations that it does not have.
func forge(t *testing.T, p *kit.Platform, name string) {
	t.Helper()
	before := kit.LiveAt(t, p.Client, kit.DeploymentRef(p.Namespace, name))
	after := before.DeepCopy()
	entries := after.GetManagedFields()
	for i := range forgers {
		var annotations []string
		for j := range fieldsEach - 2 {
			annotations = append(annotations, fmt.Sprintf(`"f:forged-%d-%d":{}`, i, j))
		}
		version := "apps/v1"
		if i%3 == 0 {
			version = "apps/v1beta1"
		}
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: fmt.Sprint("forged-", i), Operation: metav1.ManagedFieldsOperationApply, APIVersion: version, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{` + strings.Join(annotations, ",") + `}},` +
				`"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"devbox\"}":{"f:image":{}}}}}}}`),
		})
	}
	after.SetManagedFields(entries)
	if err := p.Client.Patch(t.Context(), after, client.MergeFrom(before), client.FieldOwner("forger")); err != nil {
		t.Fatal(err)
	}
}

func unforge(t *testing.T, p *kit.Platform, name string) {
	t.Helper()
	before := kit.LiveAt(t, p.Client, kit.DeploymentRef(p.Namespace, name))
	after := before.DeepCopy()
	after.SetManagedFields(slices.DeleteFunc(after.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return strings.HasPrefix(e.Manager, "forged-")
	}))
	if err := p.Client.Patch(t.Context(), after, client.MergeFrom(before), client.FieldOwner("forger")); err != nil {
		t.Fatal(err)
	}
}
