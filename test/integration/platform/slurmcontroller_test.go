package platform

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/slurmcontroller"
	"coapply.dev/test/kit"
)

func createSlurm(t *testing.T, p *kit.Platform, name string) *v1alpha1.SlurmController {
	t.Helper()
	controller := &v1alpha1.SlurmController{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name},
		Spec:       v1alpha1.SlurmControllerSpec{Image: "registry.example.com/slurmctld:1"},
	}
	if err := p.Client.Create(t.Context(), controller); err != nil {
		t.Fatal(err)
	}
	return controller
}

func waitForSlurm(t *testing.T, p *kit.Platform, name, conditionType string, want metav1.ConditionStatus) *v1alpha1.SlurmController {
	t.Helper()
	var controller v1alpha1.SlurmController
	kit.WaitFor(t, fmt.Sprintf("%s of %s is %s", conditionType, name, want), func() string {
		p.Get(t, name, &controller)
		condition := meta.FindStatusCondition(controller.Status.Conditions, conditionType)
		if condition == nil || condition.Status != want || condition.ObservedGeneration != controller.Generation {
			return fmt.Sprint(controller.Status)
		}
		return ""
	})
	return &controller
}

// waitForEndpoint waits until an EndpointSlice of a Service shows a ready address under a port, and returns the address.
func waitForEndpoint(t *testing.T, p *kit.Platform, service string, port int32) (address string) {
	t.Helper()
	kit.WaitFor(t, "a ready endpoint of the Service", func() string {
		var endpoints discoveryv1.EndpointSliceList
		if err := p.Client.List(t.Context(), &endpoints, client.InNamespace(p.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service}); err != nil {
			return err.Error()
		}
		for _, slice := range endpoints.Items {
			if !slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool {
				return *p.Port == port && *p.Name == slurmcontroller.PortName && *p.Protocol == corev1.ProtocolTCP
			}) {
				continue
			}
			for _, endpoint := range slice.Endpoints {
				if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
					address = endpoint.Addresses[0]
					return ""
				}
			}
		}
		return fmt.Sprintf("%s has no ready endpoint under port %d", service, port)
	})
	return address
}

func TestSlurmController(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	createSlurm(t, p, "slurm")
	address := waitForEndpoint(t, p, "slurm-controller", 6817)
	pod := p.Get(t, "slurm-0", &corev1.Pod{}).(*corev1.Pod)
	if address != pod.Status.PodIP {
		t.Errorf("clients see %s, the pod has %s", address, pod.Status.PodIP)
	}
	controller := waitForSlurm(t, p, "slurm", v1alpha1.ConditionReady, metav1.ConditionTrue)
	if got := controller.Status.ServiceName; got != "slurm-controller" {
		t.Errorf("status.serviceName is %q", got)
	}
	service := p.Get(t, "slurm-controller", &corev1.Service{}).(*corev1.Service)
	if s := service.Spec; s.Type != corev1.ServiceTypeClusterIP || s.ClusterIP == "" || s.ClusterIP == corev1.ClusterIPNone {
		t.Errorf("the Service's type is %s, its address %q", s.Type, s.ClusterIP)
	}
	waitForSlurm(t, p, "slurm", v1alpha1.ConditionApplied, metav1.ConditionTrue)

	// Login pods and slurmrestd of the samples name this Service and its port.
	for name, file := range map[string]string{"slurm-login": "slurm_login.yaml", "slurm-restapi": "slurm_restapi.yaml"} {
		kubectl(t, "apply", "--server-side", "-n", p.Namespace, "-f", kit.File("config", "samples", file))
		found := p.Get(t, name, &appsv1.Deployment{}).(*appsv1.Deployment)
		env, want := found.Spec.Template.Spec.Containers[0].Env, fmt.Sprintf("%s:%d", service.Name, service.Spec.Ports[0].Port)
		if len(env) != 1 || env[0].Name != "SLURM_CONF_SERVER" || env[0].Value != want {
			t.Errorf("%s finds slurmctld by %v, want %s", name, env, want)
		}
		kit.WaitFor(t, name+" is available", func() string {
			if p.Get(t, name, found); found.Status.AvailableReplicas != 1 {
				return fmt.Sprintf("%d available", found.Status.AvailableReplicas)
			}
			return ""
		})
		deleteObject(t, p, found)
	}

	// The port is followed, and with it the pod and the endpoint.
	p.Patch(t, &v1alpha1.SlurmController{}, "slurm", `{"spec":{"port":7000}}`)
	waitForEndpoint(t, p, "slurm-controller", 7000)
	p.Get(t, "slurm-controller", service)
	if ports := service.Spec.Ports; len(ports) != 1 || ports[0].Port != 7000 {
		t.Errorf("ports are %v", ports)
	}
	kit.WaitFor(t, "the pod listens there", func() string {
		err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)
		if err != nil || pod.Spec.Containers[0].Ports[0].ContainerPort != 7000 {
			return fmt.Sprint(err, pod.Spec.Containers[0].Ports)
		}
		return ""
	})
	waitForSlurm(t, p, "slurm", v1alpha1.ConditionReady, metav1.ConditionTrue)

	p.Quiet(t, time.Second)
	deleteObject(t, p, controller)
	// The garbage collector looks for new kinds twice a minute: it may not know ours yet.
	kit.WaitFor(t, "all of it is collected", func() string {
		for name, object := range map[string]client.Object{
			"slurm": &appsv1.StatefulSet{}, "slurm-controller": &corev1.Service{}, "slurm-0": &corev1.Pod{},
		} {
			err := p.Client.Get(t.Context(), client.ObjectKey{Namespace: p.Namespace, Name: name}, object)
			if !apierrors.IsNotFound(err) {
				return fmt.Sprintf("%T: %v", object, err)
			}
		}
		return ""
	})
}

// TestSlurmControllerDrift: what people do to its objects is undone, or said.
func TestSlurmControllerDrift(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	createSlurm(t, p, "slurm")
	waitForSlurm(t, p, "slurm", v1alpha1.ConditionReady, metav1.ConditionTrue)
	p.Quiet(t, time.Second)

	service := p.Get(t, "slurm-controller", &corev1.Service{}).(*corev1.Service)
	deleteObject(t, p, service)
	kit.WaitFor(t, "another Service", func() string {
		var again corev1.Service
		if err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(service), &again); err != nil || again.UID == service.UID {
			return fmt.Sprint("none: ", err)
		}
		return ""
	})
	waitForEndpoint(t, p, "slurm-controller", 6817)
	for name, object := range map[string]client.Object{"slurm": &appsv1.StatefulSet{}, "slurm-controller": &corev1.Service{}} {
		p.Patch(t, object, name, `{"metadata":{"ownerReferences":null,"labels":{"app.kubernetes.io/name":null}}}`)
		kit.WaitFor(t, "owner and label are back", func() string {
			p.Get(t, name, object)
			if metav1.GetControllerOf(object) == nil || object.GetLabels()["app.kubernetes.io/name"] == "" {
				return fmt.Sprintf("not on %T", object)
			}
			return ""
		})
	}

	p.Patch(t, &corev1.Service{}, "slurm-controller", `{"spec":{"selector":{"`+slurmcontroller.Label+`":"other"}}}`)
	controller := waitForSlurm(t, p, "slurm", v1alpha1.ConditionApplied, metav1.ConditionFalse)
	condition := meta.FindStatusCondition(controller.Status.Conditions, v1alpha1.ConditionApplied)
	if condition.Reason != "OwnershipConflict" || !strings.Contains(condition.Message, "person") {
		t.Errorf("the person's selector is not told: %v", condition)
	}
	p.Quiet(t, time.Second)
}

// TestSlurmControllerForeignService: it is left alone, the rest stands, and the name
// is taken once it is free.
func TestSlurmControllerForeignService(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	foreign := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "slurm-controller"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "web", Port: 80}}}, // conflicts with nothing of ours
	}
	if err := p.Client.Create(t.Context(), foreign, client.FieldOwner("other")); err != nil {
		t.Fatal(err)
	}
	createSlurm(t, p, "slurm")
	kit.WaitFor(t, "slurmctld runs", func() string {
		var set appsv1.StatefulSet
		if err := p.Client.Get(t.Context(), client.ObjectKey{Namespace: p.Namespace, Name: "slurm"}, &set); err != nil || set.Status.ReadyReplicas != 1 {
			return fmt.Sprint(err, set.Status)
		}
		return ""
	})
	waitForSlurm(t, p, "slurm", v1alpha1.ConditionReady, metav1.ConditionFalse)
	controller := waitForSlurm(t, p, "slurm", v1alpha1.ConditionApplied, metav1.ConditionFalse)
	if controller.Status.ServiceName != "" {
		t.Errorf("status.serviceName is %q, which is someone else's", controller.Status.ServiceName)
	}
	left := p.Get(t, "slurm-controller", &corev1.Service{})
	if left.GetResourceVersion() != foreign.ResourceVersion {
		t.Errorf("it was written to: %v", left.GetManagedFields())
	}
	deleteObject(t, p, foreign)
	waitForSlurm(t, p, "slurm", v1alpha1.ConditionApplied, metav1.ConditionTrue)
	waitForEndpoint(t, p, "slurm-controller", 6817)
}

// TestSlurmControllerName: 52 characters make a Service's name of 63, 53 are refused.
func TestSlurmControllerName(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	createSlurm(t, p, strings.Repeat("s", 52))
	waitForEndpoint(t, p, strings.Repeat("s", 52)+"-controller", 6817)
	long := &v1alpha1.SlurmController{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: strings.Repeat("s", 53)},
		Spec:       v1alpha1.SlurmControllerSpec{Image: "registry.example.com/slurmctld:1"},
	}
	err := p.Client.Create(t.Context(), long)
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "a SlurmController's name has at most 52 characters") {
		t.Errorf("53 characters: %v", err)
	}
}
