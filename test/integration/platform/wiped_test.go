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
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/internal/controller/license"
	"coapply.dev/internal/controller/slurmcontroller"
	"coapply.dev/internal/controller/user"
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

// TestWipedDevbox: somebody empties the managed fields of what a Devbox has made, and
// changes the Devbox. All of it lands, what the Devbox drops goes, and an event says why.
func TestWipedDevbox(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Reject)
	p.Create(t, "box", func(b *v1alpha1.Devbox) {
		b.Spec.Network.Type = v1alpha1.NetworkNodePort
		b.Spec.Resources.Requests = corev1.ResourceList{"cpu": kit.Quantity("10m"), "memory": kit.Quantity("1Mi")}
	})
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	kit.WaitFor(t, "every reconciler reports", func() string {
		return kit.UnlessApplied(p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox))
	})
	deployment, service := &appsv1.Deployment{}, &corev1.Service{}
	p.Get(t, "box", deployment)
	p.Patch(t, deployment, "box", `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"then"}}}}}`)
	p.Get(t, "box", service)
	wipe(t, p, deployment)
	wipe(t, p, service)
	nodePort := service.Spec.Ports[0].NodePort
	p.Patch(t, &v1alpha1.Devbox{}, "box",
		`{"spec":{"image":"registry.example.com/dev:2","state":"Stopped","network":{"port":8081},"resources":{"requests":{"memory":null}}}}`)

	kit.WaitFor(t, "the change lands", func() string {
		p.Get(t, "box", deployment)
		p.Get(t, "box", service)
		container := deployment.Spec.Template.Spec.Containers[0]
		switch {
		case container.Image != "registry.example.com/dev:2", *deployment.Spec.Replicas != 0,
			container.Ports[0].ContainerPort != 8081, len(container.Ports) != 1, len(container.Resources.Requests) != 1:
			return fmt.Sprintf("%d replicas, %+v", *deployment.Spec.Replicas, container)
		case len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 8081 || service.Spec.Ports[0].NodePort != nodePort:
			return fmt.Sprintf("%+v", service.Spec.Ports)
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
	wantKept(t, p, service)
	if deployment.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] != "then" {
		t.Error("the annotation of kubectl rollout restart is gone")
	}
	waitForEvent(t, p, "Devbox", "box", "OwnershipRestored", "Service", "before-first-apply", ".spec.ports")
	waitForEvent(t, p, "Devbox", "box", "OwnershipRestored", "Deployment", ".spec.replicas")
	p.Quiet(t, time.Second)
}

// TestWipedTenant is the same for what a User and its License have made.
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
	// At once with the wipe: what somebody sets once the platform has its fields back is theirs, and rejected.
	p.meddle(&account, `{"metadata":{"managedFields":[{}]},"automountServiceAccountToken":true}`)
	p.meddle(&binding, `{"metadata":{"managedFields":[{}]},"subjects":[]}`)
	for _, change := range []struct {
		object client.Object
		patch  string
	}{
		{&v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: p.name}}, `{"spec":{"displayName":null}}`},
		{&v1alpha1.License{ObjectMeta: metav1.ObjectMeta{Name: p.name}}, `{"spec":{"limits":{"pods":"5","services":null}}}`},
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
		_, named := namespace.Annotations[user.DisplayNameAnnotation]
		pods := quota.Spec.Hard[corev1.ResourcePods]
		switch {
		case named || namespace.Annotations[license.LimitsAnnotation] != "pods=5":
			return fmt.Sprint(namespace.Annotations)
		case pods.Value() != 5 || len(quota.Spec.Hard) != 1:
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

// TestWipedSlurm is the same for what a SlurmController and a NodeSet have made.
func TestWipedSlurm(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	createSlurm(t, p, "wiped")
	waitForSlurm(t, p, "wiped", v1alpha1.ConditionReady, metav1.ConditionTrue)
	set, service, pod := &appsv1.StatefulSet{}, &corev1.Service{}, &corev1.Pod{}
	p.Get(t, "wiped", set)
	p.Get(t, slurmcontroller.ServiceName("wiped"), service)
	createNodeSet(t, p, "wiped-nodes", 1)
	waitForNodes(t, p, "wiped-nodes")
	p.Get(t, "wiped-nodes-0", pod)
	uid := pod.UID
	for _, child := range []client.Object{set, service, pod} {
		wipe(t, p, child)
	}
	p.Patch(t, pod, pod.Name, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"somebody"}}}`)
	p.Patch(t, &v1alpha1.SlurmController{}, "wiped", `{"spec":{"image":"registry.example.com/slurm:2","port":7000}}`)
	kit.WaitFor(t, "the changes land", func() string {
		p.Get(t, "wiped", set)
		p.Get(t, slurmcontroller.ServiceName("wiped"), service)
		p.Get(t, pod.Name, pod)
		container := set.Spec.Template.Spec.Containers[0]
		switch {
		case container.Image != "registry.example.com/slurm:2" || len(container.Ports) != 1 || container.Ports[0].ContainerPort != 7000:
			return fmt.Sprintf("%+v", container)
		case len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 7000:
			return fmt.Sprintf("%+v", service.Spec.Ports)
		case pod.Labels["app.kubernetes.io/managed-by"] != "coapply":
			return fmt.Sprint(pod.Labels)
		}
		return ""
	})
	if pod.UID != uid {
		t.Error("the pod was made anew")
	}
	for _, child := range []client.Object{set, service, pod} {
		wantKept(t, p, child)
	}
}

// TestTakeBack: only what the contract says is taken, of nobody but the owner whom the
// server made up, and only of an object that is the caller's own.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	p := &kit.Platform{Client: c, Namespace: namespace}
	config := func(data map[string]string) *corev1ac.ConfigMapApplyConfiguration {
		return corev1ac.ConfigMap("a", namespace).WithLabels(map[string]string{"ours": "yes"}).WithData(data)
	}
	us, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: c, Contract: apply.Contract{
		{Manager: "us", Kind: schema.GroupKind{Kind: "ConfigMap"}, Applies: []string{".data.image", ".data.former", ".data.theirs", ".metadata.labels"}},
		{Manager: "us", Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Applies: []string{".spec"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ours := true
	intent := func(data map[string]string) apply.Intent {
		return apply.Intent{Config: config(data), Belongs: func(client.Object) bool { return ours }}
	}
	if _, err := us.Apply(t.Context(), intent(map[string]string{"image": "1", "former": "x", "theirs": "x"})); err != nil {
		t.Fatal(err)
	}
	live := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	if err := c.Patch(t.Context(), live, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"another":"x"}}`))); err != nil {
		t.Fatal(err)
	}
	wipe(t, p, live)

	ours = false
	if _, err := us.Apply(t.Context(), intent(map[string]string{"image": "2"})); err == nil || !strings.Contains(err.Error(), "someone else's") {
		t.Fatalf("%v; want that it is somebody else's", err)
	}
	if p.Get(t, "a", live); len(live.ManagedFields) > 0 {
		t.Fatalf("somebody else's object was written to: %v", live.ManagedFields)
	}
	ours = true
	theirs := corev1ac.ConfigMap("a", namespace).WithData(map[string]string{"theirs": "y"})
	if err := c.Apply(t.Context(), theirs, client.FieldOwner("other"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	outcome, err := us.Apply(t.Context(), intent(map[string]string{"image": "2"}))
	if err != nil {
		t.Fatal(err)
	}
	if p.Get(t, "a", live); fmt.Sprint(live.Data) != "map[another:x image:2 theirs:y]" {
		t.Errorf("the data is %v", live.Data)
	}
	if got := fmt.Sprint(outcome.TakenBack); got != "[.data.former .data.image .metadata.labels.ours]" {
		t.Errorf("taken back: %s", got)
	}
	if outcome.Action != apply.Configured {
		t.Errorf("%v", outcome.Action)
	}
	wantKept(t, p, live)
	if outcome, err = us.Apply(t.Context(), intent(map[string]string{"image": "2"})); err != nil || len(outcome.TakenBack) > 0 || outcome.Requests > 2 {
		t.Errorf("again: %+v, %v", outcome, err)
	}
	_, err = us.Apply(t.Context(), intent(map[string]string{"image": "2", "theirs": "z"}))
	if condition := reconciler.Condition("Applied", 1, reconciler.Applied{Errs: []error{err}}); condition.Reason != reconciler.ReasonOwnershipConflict {
		t.Errorf("what the other one has applied since: %+v", condition)
	}
}
