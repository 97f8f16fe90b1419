package faults

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/user"
	"coapply.dev/test/kit"
)

// scenario is something that a person does, and what comes of it.
type scenario struct {
	kind, act   string
	clusterWide bool
	before      []step // without a fault
	does        step
}

// step is something that is done, and reports what is missing of what comes of it.
type step struct {
	do   func(w *world)
	done func(w *world) string
}

// whole says when a parent is complete; its spec is what it is created with.
type whole struct {
	kind        string
	clusterWide bool
	created     func(w *world) client.Object
	done        func(w *world) string
}

func (k whole) create() step {
	return step{func(w *world) { w.create(k.created(w)) }, k.done}
}

func (k whole) patch(empty func() client.Object, body string) step {
	return step{func(w *world) { w.patch(empty(), body) }, k.done}
}

func (k whole) scenario(act string, does step, before ...step) scenario {
	return scenario{k.kind, act, k.clusterWide, before, does}
}

func deleted(empty func() client.Object) step {
	return step{
		do: func(w *world) { w.remove(empty()) },
		done: func(w *world) string {
			object := empty()
			if err := w.get(object); !apierrors.IsNotFound(err) {
				return fmt.Sprint(err, object.GetFinalizers())
			}
			return ""
		},
	}
}

// collected is a deletion with all that Kubernetes collects after it.
func collected(empty func() client.Object) step {
	parent := deleted(empty)
	return step{do: parent.do, done: func(w *world) string {
		if missing := parent.done(w); missing != "" {
			return missing
		}
		left, err := w.state()
		if err != nil {
			return err.Error()
		}
		return left
	}}
}

func scenarios() []scenario {
	var all []scenario
	all = append(all, devboxes()...)
	all = append(all, nodeSets()...)
	all = append(all, slurmControllers()...)
	all = append(all, tenants()...)
	return append(all, maintenances()...)
}

func emptyDevbox() client.Object { return &v1alpha1.Devbox{} }

func devboxes() []scenario {
	k := whole{kind: "devbox", done: devboxDone, created: func(w *world) client.Object {
		return &v1alpha1.Devbox{ObjectMeta: w.meta(), Spec: v1alpha1.DevboxSpec{
			Image: "registry.example.com/dev:1", Network: v1alpha1.DevboxNetwork{Type: v1alpha1.NetworkNodePort},
			Resources: v1alpha1.Resources{Requests: corev1.ResourceList{"cpu": kit.Quantity("10m")}},
		}}
	}}
	stopped := k.patch(emptyDevbox, `{"spec":{"state":"Stopped"}}`)
	return []scenario{
		k.scenario("create", k.create()),
		k.scenario("change", k.patch(emptyDevbox, `{"spec":{"network":{"port":8081},"resources":{"requests":{"cpu":null}}}}`), k.create()),
		k.scenario("roll", k.patch(emptyDevbox, `{"spec":{"image":"registry.example.com/dev:2"}}`), k.create()),
		k.scenario("scale down", stopped, k.create()),
		k.scenario("scale up", k.patch(emptyDevbox, `{"spec":{"state":"Running"}}`), k.create(), stopped),
		k.scenario("network off", k.patch(emptyDevbox, `{"spec":{"network":{"type":"None"}}}`), k.create()),
		k.scenario("shut down", k.patch(emptyDevbox, `{"spec":{"state":"Shutdown"}}`), k.create()),
		k.scenario("delete", collected(emptyDevbox), k.create()),
	}
}

func devboxDone(w *world) string {
	var box v1alpha1.Devbox
	if err := w.get(&box); err != nil {
		return err.Error()
	}
	if missing := kit.UnlessApplied(&box); missing != "" {
		return missing
	}
	phase := map[v1alpha1.DevboxState]v1alpha1.DevboxPhase{
		v1alpha1.DevboxRunning: v1alpha1.PhaseRunning, v1alpha1.DevboxStopped: v1alpha1.PhaseStopped, "Shutdown": v1alpha1.PhaseShutdown,
	}[box.Spec.State]
	if box.Status.Phase != phase || box.Status.ObservedGeneration != box.Generation {
		return fmt.Sprintf("%+v", box.Status)
	}
	return unlessReady(box.Status.Conditions, box.Generation)
}

// unlessReady wants the condition Ready, and every condition of this generation.
func unlessReady(conditions []metav1.Condition, generation int64) string {
	if !meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady) {
		return fmt.Sprint(conditions)
	}
	for _, c := range conditions {
		if c.ObservedGeneration != generation {
			return fmt.Sprint(conditions)
		}
	}
	return ""
}

func emptyNodeSet() client.Object { return &v1alpha1.NodeSet{} }

func nodeSets() []scenario {
	k := whole{kind: "nodeset", done: nodeSetDone, created: func(w *world) client.Object {
		return &v1alpha1.NodeSet{ObjectMeta: w.meta(), Spec: v1alpha1.NodeSetSpec{Image: "registry.example.com/slurmd:1", Replicas: new(int32(2))}}
	}}
	return []scenario{
		k.scenario("create", k.create()),
		k.scenario("scale up", k.patch(emptyNodeSet, `{"spec":{"replicas":4}}`), k.create()),
		k.scenario("scale down", k.patch(emptyNodeSet, `{"spec":{"replicas":1}}`), k.create()),
		k.scenario("roll", k.patch(emptyNodeSet, `{"spec":{"image":"registry.example.com/slurmd:2"}}`), k.create()),
		k.scenario("delete", collected(emptyNodeSet), k.create()),
	}
}

func nodeSetDone(w *world) string {
	var set v1alpha1.NodeSet
	if err := w.get(&set); err != nil {
		return err.Error()
	}
	if s, n := set.Status, *set.Spec.Replicas; s.ObservedGeneration != set.Generation || s.Replicas != n || s.ReadyReplicas != n || s.UpdatedReplicas != n {
		return fmt.Sprintf("%+v", s)
	}
	return unlessReady(set.Status.Conditions, set.Generation)
}

func emptySlurm() client.Object { return &v1alpha1.SlurmController{} }

func slurmControllers() []scenario {
	k := whole{kind: "slurmcontroller", done: slurmDone, created: func(w *world) client.Object {
		return &v1alpha1.SlurmController{ObjectMeta: w.meta(), Spec: v1alpha1.SlurmControllerSpec{Image: "registry.example.com/slurmctld:1"}}
	}}
	return []scenario{
		k.scenario("create", k.create()),
		k.scenario("change", k.patch(emptySlurm, `{"spec":{"port":7000}}`), k.create()),
		k.scenario("roll", k.patch(emptySlurm, `{"spec":{"image":"registry.example.com/slurmctld:2"}}`), k.create()),
		k.scenario("delete", collected(emptySlurm), k.create()),
	}
}

func slurmDone(w *world) string {
	var controller v1alpha1.SlurmController
	if err := w.get(&controller); err != nil {
		return err.Error()
	}
	if controller.Status.ObservedGeneration != controller.Generation {
		return fmt.Sprintf("%+v", controller.Status)
	}
	return unlessReady(controller.Status.Conditions, controller.Generation)
}

func emptyUser() client.Object    { return &v1alpha1.User{} }
func emptyLicense() client.Object { return &v1alpha1.License{} }

// tenants are a User, and a License that is the User's.
func tenants() []scenario {
	u := whole{kind: "user", clusterWide: true, done: userDone, created: func(w *world) client.Object {
		return &v1alpha1.User{ObjectMeta: w.meta(), Spec: v1alpha1.UserSpec{DisplayName: "Ada"}}
	}}
	l := whole{kind: "license", clusterWide: true, done: licenseDone, created: func(w *world) client.Object {
		return &v1alpha1.License{ObjectMeta: w.meta(), Spec: v1alpha1.LicenseSpec{Limits: corev1.ResourceList{"pods": kit.Quantity("1")}}}
	}}
	withoutNamespace := step{do: deleted(emptyUser).do, done: func(w *world) string {
		if missing := deleted(emptyUser).done(w); missing != "" {
			return missing
		}
		var namespace corev1.Namespace
		err := w.Client.Get(w.t.Context(), client.ObjectKey{Name: user.NamespaceOf(w.name)}, &namespace)
		if !apierrors.IsNotFound(err) {
			return fmt.Sprint("the Namespace: ", err)
		}
		return ""
	}}
	withoutQuota := step{do: deleted(emptyLicense).do, done: func(w *world) string {
		if missing := deleted(emptyLicense).done(w); missing != "" {
			return missing
		}
		var quotas corev1.ResourceQuotaList
		if err := w.Client.List(w.t.Context(), &quotas, client.InNamespace(user.NamespaceOf(w.name))); err != nil || len(quotas.Items) > 0 {
			return fmt.Sprint(len(quotas.Items), " quotas ", err)
		}
		return ""
	}}
	return []scenario{
		u.scenario("create", u.create()),
		u.scenario("change", u.patch(emptyUser, `{"spec":{"displayName":null}}`), u.create()),
		u.scenario("delete", withoutNamespace, u.create()),
		l.scenario("create", l.create(), u.create()),
		l.scenario("change", l.patch(emptyLicense, `{"spec":{"limits":{"pods":null,"services":"2"}}}`), u.create(), l.create()),
		l.scenario("expire", l.patch(emptyLicense, `{"spec":{"notAfter":"2020-01-01T00:00:00Z"}}`), u.create(), l.create()),
		l.scenario("delete", withoutQuota, u.create(), l.create()),
	}
}

func userDone(w *world) string {
	var person v1alpha1.User
	if err := w.get(&person); err != nil {
		return err.Error()
	}
	if person.Status.Namespace == "" || person.Status.ObservedGeneration != person.Generation {
		return fmt.Sprintf("%+v", person.Status)
	}
	return unlessReady(person.Status.Conditions, person.Generation)
}

func licenseDone(w *world) string {
	var license v1alpha1.License
	if err := w.get(&license); err != nil {
		return err.Error()
	}
	applied := meta.FindStatusCondition(license.Status.Conditions, v1alpha1.ConditionApplied)
	phase := v1alpha1.LicenseActive
	if license.Spec.NotAfter != nil {
		phase = v1alpha1.LicenseExpired
	}
	if license.Status.Phase != phase || license.Status.Namespace == "" || applied == nil || applied.Status != metav1.ConditionTrue ||
		applied.ObservedGeneration != license.Generation {
		return fmt.Sprintf("%+v", license.Status)
	}
	return ""
}
