package platform

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/devbox"
	"coapply.dev/platform/controllers/nodeset"
	"coapply.dev/platform/controllers/slurmcontroller"
	"coapply.dev/platform/controllers/user"
	"coapply.dev/test/kit"
)

// The attacks of docs/security.md that no other file has.

// hostileMetadata is what an author may write on an object of ours, and what would do harm on
// the objects that are made of it.
func hostileMetadata(owner *corev1.ConfigMap, namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name,
		Labels: map[string]string{
			devbox.Label: "victim", nodeset.Label: "victim", slurmcontroller.Label: "victim", // of another's Service and Deployment
			"app.kubernetes.io/name": "victim", "example.com/injected": "victim",
		},
		Annotations: map[string]string{
			"container.apparmor.security.beta.kubernetes.io/" + devbox.ContainerName: "unconfined",
			"example.com/inject": "victim",
		},
		Finalizers:      []string{"example.com/victim"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}},
	}
}

// TestMetadataStaysWithItsObject: labels, annotations, finalizers and owner references that an
// author writes on an object of ours reach nothing that is made of it. The pods have no
// more than the CRD has a field for.
func TestMetadataStaysWithItsObject(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "victim"}}
	if err := p.Client.Create(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	for _, object := range []client.Object{
		&v1alpha1.Devbox{ObjectMeta: hostileMetadata(owner, p.Namespace, "box"), Spec: v1alpha1.DevboxSpec{Image: "a"}},
		&v1alpha1.NodeSet{ObjectMeta: hostileMetadata(owner, p.Namespace, "nodes"), Spec: v1alpha1.NodeSetSpec{Image: "a", Replicas: new(int32(1))}},
		&v1alpha1.SlurmController{ObjectMeta: hostileMetadata(owner, p.Namespace, "slurm"), Spec: v1alpha1.SlurmControllerSpec{Image: "a"}},
	} {
		if err := p.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	waitForNodes(t, p, "nodes")
	waitForSlurm(t, p, "slurm", v1alpha1.ConditionReady, metav1.ConditionTrue)

	made := 0
	for _, kind := range []metav1.TypeMeta{
		{APIVersion: "apps/v1", Kind: "DeploymentList"}, {APIVersion: "apps/v1", Kind: "ReplicaSetList"}, {APIVersion: "apps/v1", Kind: "StatefulSetList"},
		{APIVersion: "v1", Kind: "ServiceList"}, {APIVersion: "v1", Kind: "PodList"},
	} {
		list := &metav1.PartialObjectMetadataList{TypeMeta: kind}
		if err := p.Client.List(t.Context(), list, client.InNamespace(p.Namespace)); err != nil {
			t.Fatal(err)
		}
		for _, child := range list.Items {
			made++
			if said := fmt.Sprint(child.Labels, child.Annotations, child.Finalizers, child.OwnerReferences); strings.Contains(said, "victim") ||
				strings.Contains(said, "unconfined") {
				t.Errorf("%s %s has %s", kind.Kind, child.Name, said)
			}
		}
	}
	if made != 8 { // a Deployment, a ReplicaSet, a StatefulSet, two Services, three pods
		t.Errorf("%d objects were looked at", made)
	}
	wantPlainPods(t, p, 3)
}

// wantPlainPods holds that there are as many pods, each with nothing that reaches the node or the
// API server.
func wantPlainPods(t *testing.T, p *kit.Platform, n int) {
	t.Helper()
	var list corev1.PodList
	if err := p.Client.List(t.Context(), &list, client.InNamespace(p.Namespace)); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != n {
		t.Errorf("%d pods, want %d", len(list.Items), n)
	}
	for _, pod := range list.Items {
		spec := pod.Spec
		account := spec.ServiceAccountName == "" || spec.ServiceAccountName == "default"
		token := spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken
		if !account || token || spec.HostNetwork || spec.HostPID || spec.HostIPC || len(spec.Volumes)+len(spec.InitContainers) > 0 ||
			len(spec.Containers) != 1 || spec.Containers[0].SecurityContext != nil || len(spec.Containers[0].Command) > 0 {
			t.Errorf("pod %s: %+v", pod.Name, spec)
		}
	}
}

// TestServiceOfAnother: a Devbox has the name of a SlurmController's Service. No slurmd is sent to
// it, nor to what somebody wrote into the NodeSet's status; once the name is free, all of it comes.
func TestServiceOfAnother(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	squatter := p.Create(t, slurmcontroller.ServiceName("slurm"))
	kit.WaitFor(t, "the Devbox has its Service", func() string {
		return errorOf(p.Client.Get(t.Context(), client.ObjectKeyFromObject(squatter), &corev1.Service{}))
	})
	createSlurm(t, p, "slurm")
	createNodeSet(t, p, "x", 1, func(set *v1alpha1.NodeSet) { set.Spec.ControllerName = "slurm" })
	waitForSlurm(t, p, "slurm", v1alpha1.ConditionApplied, metav1.ConditionFalse)
	waitForCondition(t, p, "x", v1alpha1.ConditionReady, "NoController")
	host := "slurm-controller." + p.Namespace + ".svc"
	for i, address := range []string{"elsewhere.example.com:6817", host + ":6817; reboot", host + ":", host + ":70000", host + ".example.com:6817"} {
		patchStatus(t, p, &v1alpha1.NodeSet{}, "x", fmt.Sprintf(`{"status":{"controllerAddress":%q}}`, address))
		p.Patch(t, &v1alpha1.NodeSet{}, "x", fmt.Sprintf(`{"spec":{"maxUnavailable":%d}}`, i+2))
		kit.WaitFor(t, "the address is taken back: "+address, func() string {
			set := p.Get(t, "x", &v1alpha1.NodeSet{}).(*v1alpha1.NodeSet)
			if set.Status.ObservedGeneration != set.Generation || set.Status.ControllerAddress != "" {
				return fmt.Sprintf("%+v", set.Status)
			}
			return ""
		})
	}
	if pods := nodes(t, p, "x"); len(pods) > 0 {
		t.Errorf("%d pods were sent to somebody else: %v", len(pods), pods[0].Spec.Containers[0].Env)
	}
	deleteObject(t, p, squatter)
	waitForNodes(t, p, "x")
	env := nodes(t, p, "x")[0].Spec.Containers[0].Env
	if !slices.Contains(env, corev1.EnvVar{Name: "SLURM_CONTROLLER_HOST", Value: host}) {
		t.Errorf("the pod is told %v", env)
	}
}

func errorOf(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// TestAnotherNamespace: whoever may do everything in one namespace takes the names of another's
// objects there, and says in statuses that they are those. Nothing is written in the other.
func TestAnotherNamespace(t *testing.T) {
	t.Parallel()
	in := func() *kit.Platform {
		p := *kit.WholePlatform(t)
		p.Namespace = kit.NewNamespace(t, p.Client)
		return &p
	}
	victim, attacker := in(), in()
	victims := victim.Create(t, "box")
	waitForPhase(t, victim, "box", v1alpha1.PhaseRunning)
	createSlurm(t, victim, "slurm")
	waitForSlurm(t, victim, "slurm", v1alpha1.ConditionReady, metav1.ConditionTrue)
	rest := person{victim, t, victim.Namespace}
	rest.atRest()
	before := len(victim.Writes.About(victim.Namespace))

	attackers := attacker.Create(t, "box", func(b *v1alpha1.Devbox) {
		b.Labels = map[string]string{devbox.Label: "box"}
	})
	waitForPhase(t, attacker, "box", v1alpha1.PhaseRunning)
	now := victim.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
	patchStatus(t, attacker, &v1alpha1.Devbox{}, "box", fmt.Sprintf(`{"status":{"contentID":%q}}`, now.Status.ContentID))
	createNodeSet(t, attacker, "x", 1, func(set *v1alpha1.NodeSet) { set.Spec.ControllerName = "slurm" })
	waitForCondition(t, attacker, "x", v1alpha1.ConditionReady, "NoController")
	patchStatus(t, attacker, &v1alpha1.NodeSet{}, "x", fmt.Sprintf(`{"status":{"controllerAddress":"slurm-controller.%s.svc:6817"}}`, victim.Namespace))
	attacker.Patch(t, &v1alpha1.NodeSet{}, "x", `{"spec":{"maxUnavailable":2}}`)
	kit.WaitFor(t, "the address is taken back", func() string {
		set := attacker.Get(t, "x", &v1alpha1.NodeSet{}).(*v1alpha1.NodeSet)
		if set.Status.ObservedGeneration != set.Generation || set.Status.ControllerAddress != "" {
			return fmt.Sprintf("%+v", set.Status)
		}
		return ""
	})
	set(t, attacker, "box", v1alpha1.DevboxShutdown)
	waitForPhase(t, attacker, "box", v1alpha1.PhaseShutdown)
	deleteObject(t, attacker, attackers)
	waitUntilGone(t, attacker, "box")

	if all := victim.Writes.About(victim.Namespace); len(all) != before {
		t.Errorf("written in the other namespace: %v", all[before:])
	}
	if box := waitForPhase(t, victim, "box", v1alpha1.PhaseRunning); box.UID != victims.UID || box.Status.ContentID != now.Status.ContentID {
		t.Errorf("the other's Devbox is %+v", box.Status)
	}
}

// TestLabelIsNobodysWord: somebody makes what a Devbox, a NodeSet and a User are about to make, with our
// labels on it. It is not adopted, and outlives them.
func TestLabelIsNobodysWord(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	labels := map[string]string{devbox.Label: "box", nodeset.Label: "x", "app.kubernetes.io/managed-by": "coapply"}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: devbox.ContainerName, Image: "registry.example.com/eves:1"}}},
	}
	deployment := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{devbox.Label: "box"}}, Template: template,
	}}
	service := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: nodeset.ContainerName, Image: "registry.example.com/slurmd:1"}}}}
	names := map[client.Object]string{deployment: "box", service: "box", pod: "x-0"}
	for object, name := range names {
		object.SetNamespace(p.Namespace)
		object.SetName(name)
		object.SetLabels(labels)
		if err := p.Client.Create(t.Context(), object, client.FieldOwner("eve")); err != nil {
			t.Fatal(err)
		}
	}
	box := p.Create(t, "box")
	set := createNodeSet(t, p, "x", 1)
	waitForCondition(t, p, "x", v1alpha1.ConditionApplied, reconciler.ReasonNameTaken)
	waitForEvent(t, p, "Devbox", "box", reconciler.ReasonNameTaken, "Deployment "+p.Namespace+"/box")
	waitForEvent(t, p, "Devbox", "box", reconciler.ReasonNameTaken, "Service "+p.Namespace+"/box")
	p.Get(t, "x", set)
	if set.Status.Replicas != 0 || meta.IsStatusConditionTrue(set.Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("the NodeSet counts a pod that it has not made: %+v", set.Status)
	}
	deleteObject(t, p, set)
	deleteBeside(t, p, box)
	for object, name := range names {
		wantUntouched(t, p, name, object)
	}

	ada := newPerson(t, "person-labelled")
	foreign := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ada.namespaceName(), Labels: map[string]string{user.OwnerLabel: ada.name}}}
	if err := ada.Client.Create(t.Context(), foreign, client.FieldOwner("eve")); err != nil {
		t.Fatal(err)
	}
	ada.createUser()
	var u v1alpha1.User
	ada.becomes(&u, metav1.ConditionFalse, reconciler.ReasonNameTaken)
	if u.Status.Namespace != "" {
		t.Errorf("the User has %s", u.Status.Namespace)
	}
	ada.nothingIn(foreign)
}
