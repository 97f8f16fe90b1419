package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/controller/devbox"
	"coapply.dev/internal/controller/fieldmanagers"
)

func (d *demonstration) showOwners(ctx context.Context, _ io.Writer) error {
	d.show.step("Who owns which field of Deployment alpha",
		"The kubectl plugin of this project shows who owns what, here the fields that",
		"two of our reconcilers share out among themselves. Nobody else may change one",
		"of them without saying so.")
	if err := d.showReplicas(ctx); err != nil {
		return err
	}
	workload := []string{"--path", ".spec.template.spec", "--manager", fieldmanagers.DevboxWorkload}
	if err := d.kubectl(ctx, append([]string{"fieldowners", "deployment/alpha"}, workload...)...); err != nil {
		return err
	}
	deployment, ownership, err := d.deployment(ctx)
	if err != nil {
		return err
	}
	want := map[string]string{
		".spec.replicas": fieldmanagers.DevboxPower,
		fmt.Sprintf(".spec.template.spec.containers[name=%q].image", devbox.ContainerName): fieldmanagers.DevboxWorkload,
	}
	for path, manager := range want {
		owners := ownership.OwnersOf(fieldowners.MustParsePath(path))
		if len(owners) != 1 || owners[0].Name != manager {
			return fmt.Errorf("%s of %s is owned by %v, want %s alone", path, deployment.Name, owners, manager)
		}
	}
	d.show.ok("replicas belong to power alone, the image to workload alone")
	return nil
}

// showReplicas prints who owns the replicas of alpha now.
func (d *demonstration) showReplicas(ctx context.Context) error {
	return d.kubectl(ctx, "fieldowners", "deployment/alpha", "--path", ".spec.replicas", "-o", "table")
}

func (d *demonstration) deployment(ctx context.Context) (*appsv1.Deployment, fieldowners.Ownership, error) {
	var deployment appsv1.Deployment
	if err := d.platform.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "alpha"}, &deployment); err != nil {
		return nil, fieldowners.Ownership{}, err
	}
	ownership, err := fieldowners.Parse(deployment.GetManagedFields())
	return &deployment, ownership, err
}

func (d *demonstration) scaleUnderReject(ctx context.Context, _ io.Writer) error {
	d.show.step("A person scales the Deployment; power Rejects the conflict",
		"kubectl scale takes the replicas. The power reconciler wants 1, sees that",
		"someone else owns them now, leaves them, and says so in the status.")
	if err := d.kubectl(ctx, "scale", "deployment/alpha", "--replicas=2"); err != nil {
		return err
	}
	box, err := d.waitFor(ctx, "alpha", "power reports the conflict",
		conditionIs(v1alpha1.ConditionPowerApplied, "False", "OwnershipConflict"))
	if err != nil {
		return err
	}
	d.show.print(condition(box, v1alpha1.ConditionPowerApplied))
	if err := d.showReplicas(ctx); err != nil {
		return err
	}
	if err := d.checkReplicas(ctx, 2, "kubectl"); err != nil {
		return err
	}
	d.show.ok("replicas are still 2 and belong to kubectl")
	return nil
}

func (d *demonstration) scaleUnderForce(ctx context.Context, stderr io.Writer) error {
	d.show.step("The manager is told to Force the replicas, and only them",
		"It is started again with --replicas-conflict Force. Power takes the field",
		"back: an unforced apply tells what there is to take, and the forced one is",
		"pinned to what was read before that, so that nothing else goes with it.")
	before, err := d.counters(ctx)
	if err != nil {
		return err
	}
	d.measured.count(before)
	if err := d.platform.stopManager(); err != nil {
		return err
	}
	start := time.Now()
	if err := d.platform.startManager(ctx, "Force", stderr); err != nil {
		return err
	}
	if _, err := d.waitFor(ctx, "alpha", "power has its field again", conditionIs(v1alpha1.ConditionPowerApplied, "True", "Applied")); err != nil {
		return err
	}
	d.measured.add("manager started again until the replicas were taken back", time.Since(start))
	if err := d.checkReplicas(ctx, 1, fieldmanagers.DevboxPower); err != nil {
		return err
	}
	if err := d.showEvent(ctx, "OwnershipForced"); err != nil {
		return err
	}
	if err := d.showReplicas(ctx); err != nil {
		return err
	}
	d.show.ok("replicas are 1 and belong to power alone")
	return nil
}

// showEvent waits for an event about alpha: events are sent in the background.
func (d *demonstration) showEvent(ctx context.Context, reason string) error {
	err := until(ctx, "there is an event "+reason, func(ctx context.Context) (string, error) {
		var events eventsv1.EventList
		if err := d.platform.client.List(ctx, &events, client.InNamespace("default")); err != nil {
			return "", err
		}
		for _, event := range events.Items {
			if event.Regarding.Name == "alpha" && event.Reason == reason {
				d.show.print(wrapped("event "+event.Reason+": "+event.Note, 72))
				return "", nil
			}
		}
		return fmt.Sprintf("%d other events", len(events.Items)), nil
	})
	return err
}

func (d *demonstration) checkReplicas(ctx context.Context, want int32, owner string) error {
	deployment, ownership, err := d.deployment(ctx)
	if err != nil {
		return err
	}
	owners := ownership.OwnersOf(fieldowners.MustParsePath(".spec.replicas"))
	if *deployment.Spec.Replicas != want || len(owners) != 1 || owners[0].Name != owner {
		return fmt.Errorf("%d replicas, owned by %v; want %d, owned by %s alone", *deployment.Spec.Replicas, owners, want, owner)
	}
	return nil
}

func (d *demonstration) secondApplier(ctx context.Context, _ io.Writer) error {
	d.show.step("A second applier wants the image",
		"An image updater, written with this library and the default policy, applies",
		"another image to the same Deployment. The error names field, owner and both",
		"values; nothing of its intent landed.")
	applier, err := apply.New(d.platform.client, apply.Config{FieldManager: "image-updater", LiveReader: d.platform.client})
	if err != nil {
		return err
	}
	wanted := appsv1ac.Deployment("alpha", "default").
		WithAnnotations(map[string]string{"example.com/updated-by": "image-updater"}).
		WithSpec(appsv1ac.DeploymentSpec().WithTemplate(corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().
			WithContainers(corev1ac.Container().WithName(devbox.ContainerName).WithImage("registry.example.com/dev:2")))))
	outcome, err := applier.Apply(ctx, apply.Intent{Config: wanted, MustExist: true})
	conflict := (*apply.ConflictError)(nil)
	if !errors.As(err, &conflict) {
		return fmt.Errorf("got %w, want a ConflictError", err)
	}
	d.show.print(wrapped(err.Error(), 72))
	path := fmt.Sprintf(".spec.template.spec.containers[name=%q].image", devbox.ContainerName)
	if len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Path.String() != path || conflict.Conflicts[0].Manager.Name != fieldmanagers.DevboxWorkload {
		return fmt.Errorf("the conflicts are %v; want one on %s with %s", conflict.Conflicts, path, fieldmanagers.DevboxWorkload)
	}
	deployment, ownership, err := d.deployment(ctx)
	if err != nil {
		return err
	}
	landed := slices.ContainsFunc(ownership.Entries(), func(e fieldowners.Entry) bool { return e.Name == "image-updater" })
	if landed || deployment.Annotations["example.com/updated-by"] != "" {
		return errors.New("something of the rejected intent landed")
	}
	d.show.ok("rejected after %d apply and %d requests in all; the Deployment is untouched", outcome.Attempts, outcome.Requests)
	return nil
}
