package delivery

import (
	"crypto/rand"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit"
)

const (
	managerUser  = "system:serviceaccount:coapply-system:coapply-manager"
	powerManager = "coapply-devbox-power"
)

// attempt is one request and whether it has to be denied.
type attempt struct {
	reason string
	denied bool
	send   func() error
}

// TestAdmission: our field managers are the service account's, and whose an
// administrator made them. Everybody else's ordinary work goes on.
func TestAdmission(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	t.Run("metadata has a size", func(t *testing.T) { testMetadataSize(t, g) })
	t.Run("namespaces", func(t *testing.T) { testNamespaces(t, g) })
	t.Run("rights", func(t *testing.T) { testRights(t, g) })
	for _, w := range append(g.spoofs(t), g.ordinary(t)...) {
		g.start(t)
		err := w.send()
		switch {
		case w.denied && !denied(err):
			t.Errorf("%s: %s, want denied with what to do", w.reason, errorText(err))
		case !w.denied && err != nil:
			t.Errorf("%s: %v", w.reason, err)
		}
	}
	g.start(t)
	shown := g.kubectl(t, "fieldowners", "migrate", "deployment/box", "-n", g.namespace, "--as", "granted", "--operation", "Apply",
		"--from", powerManager, "--to", "team", "--yes", "--undo-file", filepath.Join(t.TempDir(), "undo.json"))
	if g.start(t); !strings.Contains(shown, "fields moved") {
		t.Errorf("migrate: %s", shown)
	}
}

// start has the manager's service account apply everything, as the manager would.
func (g *guarded) start(t *testing.T) {
	t.Helper()
	if err := g.spoof(t, g.manager); err != nil {
		t.Fatal("the manager itself:", err)
	}
}

// spoofs are the ways to write in our name.
func (g *guarded) spoofs(t *testing.T) []attempt {
	agent := g.as(t, "person", powerManager+"/v1")
	return []attempt{
		{"scale under our name", true, func() error { return g.scale(t, g.person, client.FieldOwner(powerManager)) }},
		{"our name as a User-Agent", true, func() error { return g.merge(t, agent, `{"spec":{"replicas":4}}`) }},
		{"apply under our name", true, func() error { return g.spoof(t, g.person) }},
		{"create under our name", true, func() error {
			return g.person.Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "p"},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			}, client.FieldOwner(powerManager))
		}},
		{"resize a pod under our name", true, func() error {
			return g.subresource(t, "resize", `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"20m"}}}]}}`)
		}},
		{"debug a pod under our name", true, func() error {
			return g.subresource(t, "ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"debug","image":"i"}]}}`)
		}},
		{"patch under our name", true, func() error {
			return g.merge(t, g.person, `{"spec":{"replicas":4}}`, client.FieldOwner(powerManager))
		}},
		{"rename our entry", true, func() error {
			return g.put(t, g.person, func(box *appsv1.Deployment) { entry(box).Manager = "person" })
		}},
		{"drop our entry", true, func() error { return g.merge(t, g.person, `{"metadata":{"managedFields":[{}]}}`) }},
		{"drop it and change a label of no matter", true, func() error {
			return g.merge(t, g.person, `{"metadata":{"labels":{"x":"`+rand.Text()+`"},"managedFields":[{}]}}`)
		}},
		{"take a part of it", true, func() error {
			return g.put(t, g.person, func(box *appsv1.Deployment) {
				entry(box).FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:selector":{}}}`)
			})
		}},
		{"make ours own more, to be deleted by our next apply", true, func() error {
			return g.put(t, g.person, func(box *appsv1.Deployment) {
				raw := entry(box).FieldsV1.GetRawString()
				entry(box).FieldsV1 = metav1.NewFieldsV1(strings.Replace(raw, `"f:spec":{`, `"f:spec":{"f:paused":{},`, 1))
			})
		}},
	}
}

// subresource patches one of a pod of the manager's.
func (g *guarded) subresource(t *testing.T, name, body string) error {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "sub-" + name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": kit.Quantity("10m")}}}}},
	}
	if err := g.granted.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch(types.StrategicMergePatchType, []byte(body))
	if err := g.person.SubResource(name).Patch(t.Context(), pod, patch, client.FieldOwner("person"), client.DryRunAll); err != nil {
		t.Fatalf("%s under a name of one's own: %v", name, err)
	}
	return g.person.SubResource(name).Patch(t.Context(), pod, patch, client.FieldOwner(powerManager))
}

// ordinary is what others do every day.
func (g *guarded) ordinary(t *testing.T) []attempt {
	return []attempt{
		{"kubectl scale", false, func() error { return g.scale(t, g.person) }},
		{"take a field by force", false, func() error {
			return g.person.Patch(t.Context(), g.box(), client.RawPatch(types.ApplyPatchType, []byte(strings.Replace(boxBody, ":2", ":7", 1))),
				client.FieldOwner("person"), client.ForceOwnership)
		}},
		{"take all of ours by other values", false, func() error {
			return g.merge(t, g.person, `{"spec":{"replicas":6,"template":{"spec":{"containers":[{"name":"c","image":"other"}]}}}}`)
		}},
		{"a label", false, func() error { return g.merge(t, g.person, `{"metadata":{"labels":{"x":"y"}}}`) }},
		{"send everything back as it was read", false, func() error {
			return g.put(t, g.person, func(box *appsv1.Deployment) { box.Annotations = map[string]string{"seen": "yes"} })
		}},
		{"send it back without managed fields", false, func() error {
			return g.put(t, g.person, func(box *appsv1.Deployment) { box.ManagedFields, box.Labels = nil, map[string]string{"x": "z"} })
		}},
		{"a status", false, func() error {
			box := g.read(t)
			box.Status.ObservedGeneration = box.Generation
			return g.person.Status().Update(t.Context(), box)
		}},
		{"dropping our entry through the status, which does not do it", false, func() error {
			err := g.person.Status().Patch(t.Context(), g.box(),
				client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`)))
			if entry(g.read(t)).Manager == "" {
				err = errors.New("it is gone")
			}
			return err
		}},
		{"creating with an entry of ours, which is not taken", false, func() error {
			box := g.read(t)
			box.Name, box.ResourceVersion, box.UID = "forged", "", ""
			err := g.person.Create(t.Context(), box, client.FieldOwner("person"))
			if entry(box).Manager != "" {
				err = errors.New("it is there")
			}
			return err
		}},
		{"our name on a kind that we do not write to", false, func() error {
			return g.person.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "c"}},
				client.FieldOwner(powerManager))
		}},
		{"our name, with the right to it", false, func() error { return g.spoof(t, g.granted) }},
		{"rewriting our entry, with the right to it", false, func() error {
			return g.put(t, g.granted, func(box *appsv1.Deployment) { entry(box).Manager = "granted" })
		}},
		{"delete", false, func() error { return g.person.Delete(t.Context(), g.box()) }},
	}
}
