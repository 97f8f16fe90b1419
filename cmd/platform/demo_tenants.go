package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mitchellh/go-wordwrap"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/controller/fieldmanagers"
	"coapply.dev/internal/controller/license"
	"coapply.dev/internal/controller/user"
)

const person = "anna"

func (d *demonstration) tenant(ctx context.Context, _ io.Writer) error {
	d.show.step("A person, and what they may use",
		"A User has a Namespace; the License of the same name limits it to one pod. So",
		"two reconcilers write to one Namespace, each to its own label and annotation.")
	start := time.Now()
	named := metav1.ObjectMeta{Name: person}
	for _, object := range []client.Object{
		&v1alpha1.User{ObjectMeta: named, Spec: v1alpha1.UserSpec{DisplayName: "Anna"}},
		&v1alpha1.License{ObjectMeta: named, Spec: v1alpha1.LicenseSpec{
			Limits: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")},
		}},
	} {
		if err := d.platform.client.Create(ctx, object, client.FieldOwner("person")); err != nil {
			return err
		}
	}
	quota := client.ObjectKey{Namespace: user.NamespaceOf(person), Name: license.Quota}
	if err := d.enforced(ctx, quota); err != nil {
		return err
	}
	_, err := await(ctx, d, client.ObjectKey{Name: person}, "everything is applied", func(u *v1alpha1.User) string {
		return unlessCondition(u.Status.Conditions, v1alpha1.ConditionApplied, "True", "Applied")
	})
	if err != nil {
		return err
	}
	d.measured.add("a User and a License until the quota is enforced", time.Since(start))
	for _, kind := range []string{"users", "licenses"} {
		if err := d.kubectl(ctx, "get", kind); err != nil {
			return err
		}
	}
	managers := fieldmanagers.User + "," + fieldmanagers.License
	if err := d.kubectl(ctx, "fieldowners", "namespace/"+quota.Namespace, "--path", ".metadata", "--manager", managers); err != nil {
		return err
	}
	if err := d.coOwned(ctx, quota.Namespace); err != nil {
		return err
	}
	d.show.ok("the owner label is the User's alone, the limits are the License's alone")
	return nil
}

// enforced waits until the API server knows how much of the quota is used.
func (d *demonstration) enforced(ctx context.Context, quota client.ObjectKey) error {
	return until(ctx, "the quota is enforced", func(ctx context.Context) (string, error) {
		var live corev1.ResourceQuota
		err := d.platform.client.Get(ctx, quota, &live)
		if client.IgnoreNotFound(err) != nil {
			return "", err
		}
		if limit, ok := live.Status.Hard[corev1.ResourcePods]; !ok || limit.Value() != 1 {
			return fmt.Sprintf("%v, %v", err, live.Status.Hard), nil
		}
		return "", nil
	})
}

func (d *demonstration) coOwned(ctx context.Context, namespace string) error {
	var live corev1.Namespace
	if err := d.platform.client.Get(ctx, client.ObjectKey{Name: namespace}, &live); err != nil {
		return err
	}
	ownership, err := fieldowners.Parse(live.ManagedFields)
	if err != nil {
		return err
	}
	for path, manager := range map[string]string{
		fmt.Sprintf(".metadata.labels[%q]", user.OwnerLabel):               fieldmanagers.User,
		fmt.Sprintf(".metadata.annotations[%q]", license.LimitsAnnotation): fieldmanagers.License,
	} {
		owners := ownership.OwnersOf(fieldowners.MustParsePath(path))
		if len(owners) != 1 || owners[0].Name != manager {
			return fmt.Errorf("%s of Namespace %s is owned by %v, want %s alone", path, namespace, owners, manager)
		}
	}
	return nil
}

func (d *demonstration) quota(ctx context.Context, _ io.Writer) error {
	d.show.step("A Devbox within the quota, and one beyond it",
		"The second one is made all the same: a spec is a wish. The API server refuses",
		"its pod, nobody overwrites anybody, and the Devbox says that it does not run.")
	namespace := user.NamespaceOf(person)
	within, beyond := client.ObjectKey{Namespace: namespace, Name: "within"}, client.ObjectKey{Namespace: namespace, Name: "beyond"}
	if err := d.createBox(ctx, within, v1alpha1.NetworkClusterIP); err != nil {
		return err
	}
	if _, err := await(ctx, d, within, "it runs", settled); err != nil {
		return err
	}
	if err := d.createBox(ctx, beyond, v1alpha1.NetworkClusterIP); err != nil {
		return err
	}
	deployment, err := await(ctx, d, beyond, "its pod is refused", func(deployment *appsv1.Deployment) string {
		if why := refusal(deployment); !strings.Contains(why, "exceeded quota: "+license.Quota) {
			return fmt.Sprintf("%q", why)
		}
		return ""
	})
	if err != nil {
		return err
	}
	_, why, _ := strings.Cut(refusal(deployment), "forbidden: ")
	d.show.print(wordwrap.WrapString("Deployment "+beyond.Name+": "+why, 72))
	if _, err := await(ctx, d, beyond, "it is pending", phaseIs(v1alpha1.PhasePending)); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "get", "devboxes", "--namespace", namespace); err != nil {
		return err
	}
	d.show.ok("one runs, the other is Pending")
	return nil
}

func refusal(deployment *appsv1.Deployment) string {
	for _, condition := range deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure {
			return condition.Message
		}
	}
	return ""
}
