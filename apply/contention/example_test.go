package contention_test

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/fieldowners"
)

// A watch shows that shop-web, which is ours, and an autoscaler take the replicas of a
// Deployment from each other.
func Example() {
	state, err := contention.New(contention.Config{})
	if err != nil {
		panic(err)
	}
	_ = apply.Config{FieldManager: "shop-web", Policy: state.Guard("shop-web", apply.OnConflict(apply.Force))}

	web := contention.Object{ObjectRef: apply.ObjectRef{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"),
		NamespacedName:   types.NamespacedName{Namespace: "shop", Name: "web"}, UID: "1",
	}}
	versionBy := func(manager string) metav1.Object {
		return &metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1",
			Time: &metav1.Time{Time: time.Now()}, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
		}}}
	}
	seen := versionBy("autoscaler")
	for turn := range 2 * contention.DefaultPerMinute {
		now := versionBy([]string{"shop-web", "autoscaler"}[turn%2])
		change, err := contention.Seen(seen, now)
		if err != nil {
			panic(err)
		}
		for _, subject := range state.Observe(web, change) {
			_, news, _ := state.Take(subject)
			for _, trouble := range news {
				fmt.Println(trouble.Reason, trouble.Path, trouble.A.Name, trouble.B.Name)
				fmt.Println("stops forcing it for a while:", trouble.Yields)
			}
		}
		seen = now
	}
	fmt.Println(state.HowToStop(fieldowners.Manager{Name: "autoscaler", Operation: metav1.ManagedFieldsOperationApply}))
	// Output:
	// OwnershipFight .spec.replicas autoscaler shop-web
	// stops forcing it for a while: [shop-web]
	// autoscaler: take the field out of what it applies; once it has stopped, kubectl fieldowners release gives up what it applied
}
