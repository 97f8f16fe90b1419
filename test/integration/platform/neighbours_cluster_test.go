package platform

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/user"
	"coapply.dev/test/kit"
)

// TestHostileUsers: thirty Users whose status says that they have the Namespace of
// another one, each with a License of the oddest that is let in. They get their own,
// and what the good one has is as it was.
func TestHostileUsers(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "hostile")
	p.createUser()
	p.createLicense(nil)
	p.userIsComplete()
	p.licenseIs(v1alpha1.LicenseActive, p.namespaceName())
	p.atRest()
	before := p.versions()

	end := metav1.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	var names []string
	for i := range 30 {
		bad := person{p.Platform, t, fmt.Sprintf("%s-bad-%d", p.name, i)}
		names = append(names, bad.name)
		bad.createForged(p.namespaceName())
		if err := p.Client.Create(t.Context(), &v1alpha1.License{ObjectMeta: metav1.ObjectMeta{Name: bad.name}, Spec: v1alpha1.LicenseSpec{
			NotAfter: &end, Limits: corev1.ResourceList{"memory": kit.Quantity("1P"), "cpu": kit.Quantity("1n"), "pods": kit.Quantity("0")},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		bad := person{p.Platform, t, name}
		if got := bad.userIsComplete().Status.Namespace; got != bad.namespaceName() {
			t.Errorf("%s has %s", name, got)
		}
		bad.licenseIs(v1alpha1.LicenseActive, bad.namespaceName())
	}
	if after := p.versions(); after != before {
		t.Errorf("of the good one there was %s, and is %s", before, after)
	}
	p.atRest() // with the others, whose names begin with its own
}

// createForged creates a User whose first reconcile finds a status that somebody made up.
func (p person) createForged(namespace string) {
	p.t.Helper()
	bad := &v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: p.name, Annotations: map[string]string{reconciler.PausedAnnotation: "true"}}}
	if err := p.Client.Create(p.t.Context(), bad); err != nil {
		p.t.Fatal(err)
	}
	forge(p.Platform, bad, fmt.Sprintf(`{"status":{"namespace":%q,"conditions":[{"type":"Applied","status":"True","reason":"Forged","message":"",
		"lastTransitionTime":"2000-01-01T00:00:00Z"}]}}`, namespace))
	p.meddle(bad, `{"metadata":{"annotations":null}}`)
}

// forge writes a status as somebody who is no reconciler.
func forge(p *kit.Platform, object client.Object, status string) {
	patch := client.RawPatch("application/merge-patch+json", []byte(status))
	if err := p.Client.Status().Patch(context.Background(), object, patch, client.FieldOwner("forger")); err != nil {
		panic(err)
	}
}

// versions gives whose the objects of a User are, and which.
func (p person) versions() string {
	p.t.Helper()
	var all []string
	for _, object := range []client.Object{&corev1.ServiceAccount{}, &rbacv1.RoleBinding{}} {
		p.read(user.Account, object)
		all = append(all, object.GetResourceVersion(), object.GetOwnerReferences()[0].Name)
	}
	return strings.Join(all, " ")
}

// TestHostileMaintenances: a dozen works, which is more than are worked on at a time,
// are about a node that does not answer, others about none at all or with a status that
// somebody made up. Each of them ends, and so does a good one among them.
func TestHostileMaintenances(t *testing.T) {
	t.Parallel()
	p := kit.WholePlatform(t)
	m := &maintenance{Platform: p, label: kit.Unique("unanswering")}
	nodes := m.nodes(t, 2)
	m.unanswering(t, nodes[0])
	var silent []*v1alpha1.NodeMaintenance
	for i := range 12 {
		silent = append(silent, m.begin(t, fmt.Sprintf("silent-%d", i), v1alpha1.NodeMaintenanceSpec{
			Action: v1alpha1.Cordon, Nodes: nodes[:1], NodeDeadlineSeconds: 3}))
	}
	absent := m.begin(t, "absent", v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Uncordon, Nodes: []string{"absent-a", "absent-b"}})
	forged := &v1alpha1.NodeMaintenance{
		ObjectMeta: metav1.ObjectMeta{Name: "forged-" + m.label, Annotations: map[string]string{reconciler.PausedAnnotation: "true"}},
		Spec:       v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Cordon, Nodes: nodes[1:]},
	}
	if err := p.Client.Create(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	forge(p, forged, `{"status":{"startTime":"2000-01-01T00:00:00Z","total":7,"succeeded":3}}`)
	p.Patch(t, forged, forged.Name, `{"metadata":{"annotations":null}}`)
	good := m.begin(t, "good", v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Cordon, Nodes: nodes[1:]})

	m.end(t, good, "Succeeded")
	m.end(t, absent, "Failed")
	m.end(t, forged, "NoNodes")
	for _, work := range silent {
		if node := m.end(t, work, "Failed").Nodes[0]; !strings.Contains(node.Error, "did not succeed within 3 s") {
			t.Errorf("%s: %s", work.Name, node.Error)
		}
	}
	m.wantMarked(t, nodes[1], good)
	wantEvent(t, p, good, "Normal Succeeded: every node is in the desired state (1 nodes: 1 succeeded, 0 failed)")
	wantEvent(t, p, absent, "Warning Failed: 2 of 2 nodes failed (see status.nodes); the first is absent-a: the node does not exist "+
		"(2 nodes: 0 succeeded, 2 failed)")
}

// unanswering has the API server wait for a webhook that never answers, whenever
// somebody writes to a node.
func (m *maintenance) unanswering(t *testing.T, node string) {
	t.Helper()
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	hook := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "silent-" + m.label},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name:         "silent.example.com",
			ClientConfig: admissionv1.WebhookClientConfig{URL: new("https://" + silent.Addr().String() + "/")},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"nodes"}},
			}},
			MatchConditions:         []admissionv1.MatchCondition{{Name: "node", Expression: fmt.Sprintf("object.metadata.name == %q", node)}},
			SideEffects:             new(admissionv1.SideEffectClassNone),
			TimeoutSeconds:          new(int32(30)),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	if err := m.Client.Create(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Client.Delete(context.Background(), hook) })
	kit.WaitFor(t, "the node does not answer", func() string {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"example.com/probe":"x"}}}`))
		if err := m.Client.Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, patch, client.DryRunAll); err == nil {
			return "it does"
		}
		return ""
	})
}

// wantEvent waits for the one event about a work.
func wantEvent(t *testing.T, p *kit.Platform, about client.Object, want string) {
	t.Helper()
	kit.WaitFor(t, "an event about "+about.GetName(), func() string {
		var list eventsv1.EventList
		if err := p.Client.List(t.Context(), &list, client.InNamespace("default")); err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, event := range list.Items {
			if event.Regarding.UID == about.GetUID() {
				told = append(told, event.Type+" "+event.Reason+": "+event.Note)
			}
		}
		if len(told) != 1 || told[0] != want {
			return strings.Join(told, "; ")
		}
		return ""
	})
}
