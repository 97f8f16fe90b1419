package apply

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/fieldowners"
)

func TestPolicyDecidesByOwner(t *testing.T) {
	const byApply, byUpdate = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	policy := OnConflict(Reject).
		When(Match{Manager: "hpa"}, Relinquish).
		When(Match{Operation: byUpdate}, Force).
		At(".spec.replicas", Share).
		When(Match{Path: ".spec.replicas", Operation: byUpdate}, Force).
		When(Match{Path: ".spec.replicas", Manager: "hpa"}, Relinquish)
	for _, test := range []struct {
		path, manager string
		operation     metav1.ManagedFieldsOperationType
		want          Decision
		reason        string
	}{
		{".spec.paused", "other", byApply, Reject, "no rule holds"},
		{".spec.paused", "other", byUpdate, Force, "by operation"},
		{".spec.paused", "hpa", byUpdate, Relinquish, "the manager is closer than the operation"},
		{".spec.replicas", "other", byApply, Share, "the path is closer than either"},
		{".spec.replicas", "other", byUpdate, Force, "the path with the operation is closer than the path"},
		{".spec.replicas", "hpa", byUpdate, Relinquish, "and with the manager closer still"},
	} {
		conflict := at(test.path)
		conflict.Manager = fieldowners.Manager{Name: test.manager, Operation: test.operation}
		if got := policy.decide(conflict); got != test.want {
			t.Errorf("%s of %s/%s: %v, want %v: %s", test.path, test.manager, test.operation, got, test.want, test.reason)
		}
	}

	both := OnConflict(Reject).When(Match{Operation: byUpdate}, Reject).When(Match{Manager: "controller"}, Force)
	if got := both.decide(Conflict{ServerPath: ".spec.paused", Manager: fieldowners.Manager{Name: "controller", Operation: byUpdate}}); got != Force {
		t.Errorf("the closest of two rules for every field: %v", got)
	}
	unknown := Conflict{ServerPath: ".spec.paused", Manager: fieldowners.Manager{Name: "other", Operation: byUpdate}}
	if got := policy.decide(unknown); got != Force {
		t.Errorf("an unknown field of an updater: %v; the rule by operation holds for every field", got)
	}
	unknown.ServerPath = ".spec.replicas.x"
	if got := OnConflict(Force).At(".spec.replicas", Reject).decide(unknown); got != Reject {
		t.Errorf("an unknown field that may lie below a rule's: %v", got)
	}
}

func TestPolicyAsksFirst(t *testing.T) {
	answers := map[string]Decision{".a": Force, ".b": 9, ".c": Share}
	policy := OnConflict(Relinquish).Func(func(c Conflict) (Decision, bool) {
		decision, ok := answers[c.ServerPath]
		return decision, ok
	})
	for _, test := range []struct {
		conflict Conflict
		want     Decision
		reason   string
	}{
		{at(".a"), Force, "the function decides"},
		{at(".b"), 9, "there is no such decision: the apply fails"},
		{at(".d"), Relinquish, "the function leaves it to the rules"},
		{Conflict{ServerPath: ".c"}, Reject, "an unknown field cannot be shared"},
		{Conflict{ServerPath: ".a"}, Force, "but forced"},
	} {
		if got := policy.decide(test.conflict); got != test.want {
			t.Errorf("%s: %v, want %v: %s", test.conflict.ServerPath, got, test.want, test.reason)
		}
	}
}

func TestPolicyPathsMustExist(t *testing.T) {
	deployment := reflect.TypeFor[appsv1ac.DeploymentApplyConfiguration]()
	for _, test := range []struct {
		path   string
		says   string // "": it exists
		reason string
	}{
		{".spec.replicas", "", "a field"},
		{".metadata.labels[\"a.b/c\"]", "", "a key of a map, in embedded metadata"},
		{".apiVersion", "", "of the embedded type"},
		{`.spec.template.spec.containers[name="x"].ports[containerPort=80,protocol="TCP"].name`, "", "items by their keys"},
		{`.metadata.finalizers[="x"]`, "", "a member of a set"},
		{`.spec.template.spec.containers[name="x"].resources.limits.cpu`, "", "a quantity in a map"},
		{".metadata.creationTimestamp.x", "", "below what marshals itself Go does not say"},
		{".spec.replica", `DeploymentSpec has no field "replica"`, "a typing error"},
		{".data.x", `Deployment has no field "data"`, "another kind's"},
		{".spec.replicas.x", `int32 has no field "x"`, "below a scalar"},
		{".spec.template.spec.containers.name", `has no field "name"`, "a list has items"},
		{`.spec.strategy[="x"]`, "DeploymentStrategy is not a list", "a struct has fields"},
		{`.spec.template.spec.containers[nme="x"]`, `Container has no field "nme"`, "a key that items do not have"},
	} {
		err := OnConflict(Reject).At(test.path, Force).CheckPaths(deployment)
		if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v, want %q: %s", test.path, err, test.says, test.reason)
		}
	}
	policy, configMap := OnConflict(Reject).At(".data.x", Force).At(".spec.y", Force), reflect.TypeFor[corev1.ConfigMap]()
	if err := policy.CheckPaths(deployment, configMap); err == nil || err.Error() != "policy: none of the 2 kinds has the field .spec.y" {
		t.Errorf("of two kinds: %v", err)
	}
}
