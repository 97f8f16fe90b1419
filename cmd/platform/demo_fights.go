package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/breaker"
	"coapply.dev/platform/api/v1alpha1"
)

func (d *demonstration) fight(ctx context.Context) {
	d.show.step("A fight, and who gives way",
		"A script or a controller scales the Deployment each time that power has set",
		"the replicas back. Without a limit this would never end. After three times",
		"within a minute power stops, and reports the field and the other owner.")
	d.show.print("$ kubectl scale deployment/alpha --replicas=2   # whenever it is 1 again")
	alpha := client.ObjectKey{Namespace: "default", Name: "alpha"}
	times := d.scaleUntilContended(ctx, alpha)
	box := await(ctx, d, alpha, "power no longer forces the replicas", conditionIs(v1alpha1.ConditionPowerApplied, "False", "OwnershipConflict"))
	d.show.wrap(condition(box, breaker.ConditionContended))
	d.showEvent(ctx, breaker.ReasonFight)
	d.checkReplicas(ctx, 2, "kubectl")
	d.show.ok("scaled %d times; the replicas are 2, and kubectl owns them", times)
}

// scaleUntilContended provokes a fight with the reconciler devbox-power: it scales Deployment alpha with kubectl, and
// repeats this each time that the reconciler resets the replicas. It stops when the Devbox has the condition Contended
// and the reconciler no longer changes the replicas. It returns the number of its kubectl scale commands.
func (d *demonstration) scaleUntilContended(ctx context.Context, alpha client.ObjectKey) (times int) {
	const most = 20
	for times = 1; times <= most; times++ {
		must(d.platform.kubectl(ctx, "scale", "deployment/alpha", "--replicas=2"))
		if d.takenBackOrContended(ctx, alpha) {
			return times
		}
	}
	fail("Deployment alpha was scaled %d times, but Devbox alpha did not get the condition Contended", most)
	return 0
}

func (d *demonstration) takenBackOrContended(ctx context.Context, alpha client.ObjectKey) (contended bool) {
	until(ctx, "the power reconciler has reset the replicas of Deployment alpha, or no longer forces the replicas", func(ctx context.Context) (string, error) {
		var box v1alpha1.Devbox
		var deployment appsv1.Deployment
		if err := errors.Join(d.platform.client.Get(ctx, alpha, &box), d.platform.client.Get(ctx, alpha, &deployment)); err != nil {
			return "", err
		}
		if *deployment.Spec.Replicas == 1 {
			return "", nil
		}
		contended = conditionIs(breaker.ConditionContended, "True", breaker.ReasonFight)(&box) == "" &&
			conditionIs(v1alpha1.ConditionPowerApplied, "False", "OwnershipConflict")(&box) == ""
		if contended {
			return "", nil
		}
		return fmt.Sprintf("Deployment alpha has %d replicas, Devbox alpha has the conditions %v", *deployment.Spec.Replicas, box.Status.Conditions), nil
	})
	return contended
}
