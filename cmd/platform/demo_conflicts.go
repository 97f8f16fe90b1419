package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/devbox"
	"coapply.dev/platform/controllers/fieldmanagers"
)

func (d *demonstration) showOwners(ctx context.Context) {
	d.show.step("Who owns which field of Deployment alpha",
		"The kubectl plugin of this project shows the owners of fields: here the fields",
		"that two of our reconcilers own. Another manager that applies one of these",
		"fields with a different value gets a conflict.")
	d.showReplicas(ctx)
	d.kubectl(ctx, "fieldowners", "deployment/alpha", "--path", ".spec.template.spec", "--manager", fieldmanagers.DevboxWorkload)
	deployment := d.deployment(ctx)
	checkOwner(deployment, ".spec.replicas", fieldmanagers.DevboxPower)
	checkOwner(deployment, imagePath, fieldmanagers.DevboxWorkload)
	d.show.ok("power is the only owner of the replicas, and workload of the image")
}

// imagePath is the path of the image field in the Deployment. Two appliers want to set this field: the reconciler and
// the second applier of the demo.
var imagePath = fmt.Sprintf(".spec.template.spec.containers[name=%q].image", devbox.ContainerName)

// checkOwner fails the step unless manager is the only owner of the field at path in object.
func checkOwner(object client.Object, path, manager string) {
	owners := must(fieldowners.Parse(object.GetManagedFields())).OwnersOf(fieldowners.MustParsePath(path))
	if len(owners) != 1 || owners[0].Name != manager {
		fail("%s of %s is owned by %v, want only %s", path, object.GetName(), owners, manager)
	}
}

// showReplicas prints the owner of the replicas of Deployment alpha.
func (d *demonstration) showReplicas(ctx context.Context) {
	d.kubectl(ctx, "fieldowners", "deployment/alpha", "--path", ".spec.replicas", "-o", "table")
}

func (d *demonstration) deployment(ctx context.Context) *appsv1.Deployment {
	var deployment appsv1.Deployment
	check(d.platform.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "alpha"}, &deployment))
	return &deployment
}

func (d *demonstration) scaleUnderReject(ctx context.Context) {
	d.show.step("A person scales the Deployment; power Rejects the conflict",
		"kubectl scale takes the replicas. The power reconciler wants 1, but it leaves",
		"the value of kubectl, and reports the conflict in the status of the Devbox.")
	d.kubectl(ctx, "scale", "deployment/alpha", "--replicas=2")
	box := d.waitFor(ctx, "alpha", "power reports the conflict", conditionIs(v1alpha1.ConditionPowerApplied, "False", "OwnershipConflict"))
	d.show.wrap(condition(box, v1alpha1.ConditionPowerApplied))
	d.showReplicas(ctx)
	d.checkReplicas(ctx, 2, "kubectl")
	d.show.ok("the replicas are still 2, and kubectl owns them")
}

func (d *demonstration) scaleUnderForce(ctx context.Context) {
	d.show.step("The manager Forces conflicts over the replicas, and no other field",
		"The manager is started again with --replicas-conflict Force. Power first",
		"applies without force, to learn the conflicts. The forced apply is pinned to",
		"the resourceVersion that was read, so that it takes no other field.")
	check(d.platform.stopManager())
	check(d.platform.startManager(ctx, "Force"))
	d.waitFor(ctx, "alpha", "the power reconciler owns the replicas again", conditionIs(v1alpha1.ConditionPowerApplied, "True", "Applied"))
	d.checkReplicas(ctx, 1, fieldmanagers.DevboxPower)
	d.showEvent(ctx, "OwnershipForced")
	d.showReplicas(ctx)
	d.show.ok("the replicas are 1, and power is their only owner")
}

// showEvent waits for an event about alpha with the given reason, and prints the event.
func (d *demonstration) showEvent(ctx context.Context, reason string) {
	until(ctx, "there is an event "+reason, func(ctx context.Context) (string, error) {
		var events eventsv1.EventList
		if err := d.platform.client.List(ctx, &events, client.InNamespace("default")); err != nil {
			return "", err
		}
		for _, event := range events.Items {
			if event.Regarding.Name == "alpha" && event.Reason == reason {
				d.show.wrap("event " + event.Reason + ": " + event.Note)
				return "", nil
			}
		}
		return fmt.Sprintf("the namespace has %d events, but none about alpha with this reason", len(events.Items)), nil
	})
}

func (d *demonstration) checkReplicas(ctx context.Context, want int32, owner string) {
	deployment := d.deployment(ctx)
	if *deployment.Spec.Replicas != want {
		fail("Deployment alpha has %d replicas, want %d", *deployment.Spec.Replicas, want)
	}
	checkOwner(deployment, ".spec.replicas", owner)
}

func (d *demonstration) secondApplier(ctx context.Context) {
	d.show.step("A second applier wants the image",
		"An image updater, written with this library and the default policy, applies",
		"another image to the same Deployment. The error names the field, the owner and",
		"both values. No field of the intent is written.")
	applier := must(apply.New(d.platform.client, apply.Config{FieldManager: "image-updater", LiveReader: d.platform.client}))
	wanted := appsv1ac.Deployment("alpha", "default").
		WithAnnotations(map[string]string{"example.com/updated-by": "image-updater"}).
		WithSpec(appsv1ac.DeploymentSpec().WithTemplate(corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().
			WithContainers(corev1ac.Container().WithName(devbox.ContainerName).WithImage("registry.example.com/dev:2")))))
	outcome, err := applier.Apply(ctx, apply.Intent{Config: wanted, MustExist: true})
	conflict := (*apply.ConflictError)(nil)
	if !errors.As(err, &conflict) {
		fail("the apply of image-updater returned the error %v, want a ConflictError", err)
	}
	d.show.wrap(err.Error())
	if len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Path.String() != imagePath || conflict.Conflicts[0].Manager.Name != fieldmanagers.DevboxWorkload {
		fail("the conflicts of image-updater are %v, want one conflict on %s with %s", conflict.Conflicts, imagePath, fieldmanagers.DevboxWorkload)
	}
	deployment := d.deployment(ctx)
	landed := slices.ContainsFunc(deployment.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == "image-updater" })
	if landed || deployment.Annotations["example.com/updated-by"] != "" {
		fail("Deployment alpha has a part of the rejected intent of image-updater, want no change")
	}
	d.show.ok("rejected after %d apply and %d requests in all; the Deployment is unchanged", outcome.Attempts, outcome.Requests)
}
