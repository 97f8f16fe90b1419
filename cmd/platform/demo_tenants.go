package main

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/license"
	"coapply.dev/platform/controllers/user"
)

const person = "anna"

func (d *demonstration) tenant(ctx context.Context) {
	d.show.step("A person, and what they may use",
		"A User has a Namespace; the License of the same name limits it to one pod. Two",
		"reconcilers write to the Namespace, each to its own label and annotation.")
	named := metav1.ObjectMeta{Name: person}
	d.create(ctx, &v1alpha1.User{ObjectMeta: named, Spec: v1alpha1.UserSpec{DisplayName: "Anna"}},
		&v1alpha1.License{ObjectMeta: named, Spec: v1alpha1.LicenseSpec{Limits: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}}})
	quota := client.ObjectKey{Namespace: user.NamespaceOf(person), Name: license.Quota}
	d.enforced(ctx, quota)
	await(ctx, d, client.ObjectKey{Name: person}, "everything is applied", func(u *v1alpha1.User) string {
		return unlessCondition(u.Status.Conditions, v1alpha1.ConditionApplied, "True", "Applied")
	})
	d.get(ctx, "users", "licenses")
	managers := fieldmanagers.User + "," + fieldmanagers.License
	d.kubectl(ctx, "fieldowners", "namespace/"+quota.Namespace, "--path", ".metadata", "--manager", managers)
	var namespace corev1.Namespace
	check(d.platform.client.Get(ctx, client.ObjectKey{Name: quota.Namespace}, &namespace))
	checkOwner(&namespace, fmt.Sprintf(".metadata.labels[%q]", user.OwnerLabel), fieldmanagers.User)
	checkOwner(&namespace, fmt.Sprintf(".metadata.annotations[%q]", license.LimitsAnnotation), fieldmanagers.License)
	d.show.ok("user is the only owner of the owner label, and license of the limits")
}

// enforced waits until the quota controller has written the limit of pods to the ResourceQuota's status.
func (d *demonstration) enforced(ctx context.Context, quota client.ObjectKey) {
	until(ctx, "the quota is enforced", func(ctx context.Context) (string, error) {
		var live corev1.ResourceQuota
		err := d.platform.client.Get(ctx, quota, &live)
		if client.IgnoreNotFound(err) != nil {
			return "", err
		}
		if limit, ok := live.Status.Hard[corev1.ResourcePods]; !ok || limit.Value() != 1 {
			return fmt.Sprintf("result of reading the ResourceQuota: %v; status.hard: %v", err, live.Status.Hard), nil
		}
		return "", nil
	})
}

func (d *demonstration) quota(ctx context.Context) {
	d.show.step("A Devbox within the quota, and one beyond it",
		"The second Devbox is created, too. But the API server rejects its pod, which",
		"would exceed the quota, and the status of the Devbox stays Pending.")
	namespace := user.NamespaceOf(person)
	within, beyond := client.ObjectKey{Namespace: namespace, Name: "within"}, client.ObjectKey{Namespace: namespace, Name: "beyond"}
	d.createBox(ctx, within, v1alpha1.NetworkClusterIP)
	await(ctx, d, within, "the Devbox runs", settled)
	d.createBox(ctx, beyond, v1alpha1.NetworkClusterIP)
	deployment := await(ctx, d, beyond, "the API server rejects its pod", func(deployment *appsv1.Deployment) string {
		if why := refusal(deployment); !strings.Contains(why, "exceeded quota: "+license.Quota) {
			return fmt.Sprintf("the Deployment's condition ReplicaFailure has the message %q", why)
		}
		return ""
	})
	_, why, _ := strings.Cut(refusal(deployment), "forbidden: ")
	d.show.wrap("Deployment " + beyond.Name + ": " + why)
	await(ctx, d, beyond, "the Devbox is Pending", phaseIs(v1alpha1.PhasePending))
	d.kubectl(ctx, "get", "devboxes", "--namespace", namespace)
	d.show.ok("the first Devbox runs, the second is Pending")
}

func refusal(deployment *appsv1.Deployment) string {
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure {
			return condition.Message
		}
	}
	return ""
}
