package platform

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/license"
	"coapply.dev/platform/controllers/user"
	"coapply.dev/test/kit"
)

// wipe empties the managed fields of an object that has a label of somebody else's.
func wipe(t *testing.T, p *kit.Platform, object client.Object) {
	t.Helper()
	for _, patch := range []string{`{"metadata":{"labels":{"example.com/team":"a"}}}`, `{"metadata":{"managedFields":[{}]}}`} {
		if err := p.Client.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("team")); err != nil {
			t.Fatal(err)
		}
	}
	if len(object.GetManagedFields()) > 0 {
		t.Fatalf("%T has managed fields still", object)
	}
}

// wantKept holds that what was somebody else's before the wipe is as it was.
func wantKept(t *testing.T, p *kit.Platform, object client.Object) {
	t.Helper()
	if err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	if object.GetLabels()["example.com/team"] != "a" {
		t.Errorf("%T %s lost the label of somebody else: %v", object, object.GetName(), object.GetLabels())
	}
}

// TestWipedDevbox: somebody empties the managed fields of a Devbox's Deployment and changes the
// Devbox. The changed values are applied, and each field has its owner again, also the replicas,
// whatever the platform decides about conflicts with other owners of the replicas.
func TestWipedDevbox(t *testing.T) {
	t.Parallel()
	for _, replicas := range []apply.Decision{apply.Force, apply.Reject} {
		t.Run(replicas.String(), func(t *testing.T) {
			t.Parallel()
			wipedDevbox(t, kit.StartPlatform(t, replicas))
		})
	}
}

func wipedDevbox(t *testing.T, p *kit.Platform) {
	t.Helper()
	p.Create(t, "box", func(b *v1alpha1.Devbox) {
		b.Spec.Network.Type = v1alpha1.NetworkNodePort
		b.Spec.Resources.Requests = corev1.ResourceList{"cpu": kit.Quantity("10m"), "memory": kit.Quantity("1Mi")}
	})
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	kit.WaitFor(t, "every reconciler reports", func() string {
		return kit.UnlessApplied(p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox))
	})
	deployment := &appsv1.Deployment{}
	p.Get(t, "box", deployment)
	p.Patch(t, deployment, "box", `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"then"}}}}}`)
	wipe(t, p, deployment)
	p.Patch(t, &v1alpha1.Devbox{}, "box", `{"spec":{"image":"registry.example.com/dev:2","state":"Stopped"}}`)

	kit.WaitFor(t, "the change is applied", func() string {
		p.Get(t, "box", deployment)
		container := deployment.Spec.Template.Spec.Containers[0]
		if container.Image != "registry.example.com/dev:2" || *deployment.Spec.Replicas != 0 {
			return fmt.Sprintf("%d replicas, %+v", *deployment.Spec.Replicas, container)
		}
		return kit.UnlessApplied(p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox))
	})
	waitForPhase(t, p, "box", v1alpha1.PhaseStopped)
	for path, want := range map[string]string{
		".spec.replicas": "coapply-devbox-power/Apply",
		`.spec.template.spec.containers[name="devbox"].image`: "coapply-devbox-workload/Apply",
	} {
		if got := strings.Join(kit.OwnersOf(t, p.Client, p.Namespace, "box", path), " "); got != want {
			t.Errorf("%s is owned by %s, want %s", path, got, want)
		}
	}
	wantKept(t, p, deployment)
	if deployment.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] != "then" {
		t.Error("the annotation of kubectl rollout restart is gone")
	}
	p.Quiet(t, time.Second)
}

// TestWipedTenant: somebody empties the managed fields of the children of a User and a License, and
// gives them values that the platform forbids. The platform forces its own values.
func TestWipedTenant(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "person-wiped")
	p.createUser()
	p.userIsComplete()
	p.createLicense(nil)
	p.licenseIs(v1alpha1.LicenseActive, p.namespaceName())
	var namespace corev1.Namespace
	var account corev1.ServiceAccount
	var binding rbacv1.RoleBinding
	var quota corev1.ResourceQuota
	children := map[string]client.Object{p.namespaceName(): &namespace, user.Account: &account, license.Quota: &quota}
	for name, child := range children {
		p.read(name, child)
		wipe(t, p.Platform, child)
	}
	p.read(user.Account, &binding)
	wipe(t, p.Platform, &binding)
	// Together with the wipe: a value that somebody sets later has an owner, and the policy rejects the conflict.
	p.meddle(&account, `{"metadata":{"managedFields":[{}]},"automountServiceAccountToken":true}`)
	p.meddle(&binding, `{"metadata":{"managedFields":[{}]},"subjects":[]}`)
	for _, change := range []struct {
		object client.Object
		patch  string
	}{
		{&v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: p.name}}, `{"spec":{"displayName":"Another name"}}`},
		{&v1alpha1.License{ObjectMeta: metav1.ObjectMeta{Name: p.name}}, `{"spec":{"limits":{"pods":"5"}}}`},
	} {
		if err := p.Client.Patch(t.Context(), change.object, client.RawPatch("application/merge-patch+json", []byte(change.patch))); err != nil {
			t.Fatal(err)
		}
	}
	kit.WaitFor(t, "the changes land", func() string {
		p.read(p.namespaceName(), &namespace)
		p.read(license.Quota, &quota)
		p.read(user.Account, &account)
		p.read(user.Account, &binding)
		pods := quota.Spec.Hard[corev1.ResourcePods]
		switch {
		case namespace.Annotations[user.DisplayNameAnnotation] != "Another name":
			return fmt.Sprint(namespace.Annotations)
		case pods.Value() != 5:
			return fmt.Sprint(quota.Spec.Hard)
		case *account.AutomountServiceAccountToken || len(binding.Subjects) != 1:
			return fmt.Sprint(*account.AutomountServiceAccountToken, binding.Subjects)
		}
		return ""
	})
	p.userIsComplete()
	p.licenseIs(v1alpha1.LicenseActive, p.namespaceName())
	for _, child := range []client.Object{&namespace, &account, &binding, &quota} {
		wantKept(t, p.Platform, child)
	}
}
