package faults

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// trouble is a lasting obstacle to the Service of a SlurmController, and to nothing else.
type trouble struct {
	name  string
	begin func(w *world) (end func())
	says  []string // in the message of the condition Applied
}

// most is how many writes a trouble may cost in lasts: each wait is twice as long as the one before, from 5 ms.
const (
	lasts = 4 * time.Second
	most  = 40
)

// TestTroubles: an obstacle to one object is named in one condition, costs a bounded number of requests, and hinders
// nothing else. Once it is gone everything is as if it had not been.
func TestTroubles(t *testing.T) {
	once(t)
	create := slurmControllers()[0]
	c := create.follow(t)
	for _, trouble := range troubles() {
		t.Run(trouble.name, func(t *testing.T) {
			t.Parallel()
			w := create.begin(t, func(w *world) {
				if trouble.name == "rights" {
					w.as = "somebody-" + w.name
					w.grant(t, "*")
				}
			})
			end := trouble.begin(w)
			w.wire.Arm(nil, nil)
			create.does.do(w)
			var applied *metav1.Condition
			w.becomes("the condition tells", func() string {
				var controller v1alpha1.SlurmController
				if err := w.get(&controller); err != nil {
					return err.Error()
				}
				applied = meta.FindStatusCondition(controller.Status.Conditions, v1alpha1.ConditionApplied)
				if applied == nil || applied.Status == metav1.ConditionTrue {
					return applied.String()
				}
				return ""
			})
			for _, text := range trouble.says {
				if !strings.Contains(applied.Reason+": "+applied.Message, text) {
					t.Errorf("%s: %s does not say %q", applied.Reason, applied.Message, text)
				}
			}
			w.becomes("the other object is there", func() string {
				var pods corev1.PodList
				if err := w.Client.List(t.Context(), &pods, client.InNamespace(w.Namespace)); err != nil || len(pods.Items) != 1 {
					return fmt.Sprint(len(pods.Items), " pods ", err)
				}
				return ""
			})
			w.wire.Arm(nil, nil)
			kit.Absence(t, lasts, "too many requests")
			writes := writesOf(w.wire.Requests())
			count(t, "%d writes in %v: %s", writes, lasts, applied.Reason)
			if writes > most {
				t.Errorf("%d writes in %v, want %d at most", writes, lasts, most)
			}
			end()
			w.endsAs(&create, c)
		})
	}
}

func troubles() []trouble {
	return []trouble{
		{"quota", func(w *world) func() {
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: ofTheTest},
				Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"services": kit.Quantity("0")}}}
			w.create(quota)
			w.becomes("the quota holds", func() string {
				if err := w.Client.Get(w.t.Context(), client.ObjectKeyFromObject(quota), quota); err != nil || quota.Status.Hard == nil {
					return fmt.Sprint(quota.Status, err)
				}
				return ""
			})
			return func() { w.delete(quota) }
		}, []string{"Service", "exceeded quota"}},
		{"rights", func(w *world) func() {
			w.grant(w.t, "get", "list", "watch")
			return func() { w.grant(w.t, "*") }
		}, []string{"Service", "forbidden"}},
		{"webhook that is down", func(w *world) func() { return w.webhook("https://127.0.0.1:1/", nil) }, []string{"Service", "faults.coapply.dev"}},
	}
}

func (w *world) delete(object client.Object) {
	w.t.Helper()
	if err := w.Client.Delete(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// grant lets the user of the manager do everything, but with Services only what is listed.
func (w *world) grant(t *testing.T, withServices ...string) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: ofTheTest}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: withServices},
		{APIGroups: []string{""}, Resources: []string{"pods", "serviceaccounts", "resourcequotas", "events"}, Verbs: []string{"*"}},
		{APIGroups: []string{"apps", "platform.coapply.dev", "events.k8s.io", "rbac.authorization.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
	}}
	binding := &rbacv1.RoleBinding{ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: w.as}}}
	if err := w.Client.Create(t.Context(), binding); err == nil {
		w.create(role)
	} else if err := w.Client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	kit.WaitFor(t, "the rights hold", func() string { // the API server's authorizer watches roles
		config := kit.Cluster(t).Config()
		config.Impersonate = rest.ImpersonationConfig{UserName: w.as}
		err := kit.NewClient(t, config).Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "try"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}, client.DryRunAll)
		if (err == nil) != (withServices[0] == "*") {
			return fmt.Sprint(err)
		}
		return ""
	})
}

// webhook registers a webhook for the Services of the namespace.
func (w *world) webhook(url string, authority []byte) (end func()) {
	w.t.Helper()
	config := &registrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.name},
		Webhooks: []registrationv1.MutatingWebhook{{
			Name: "faults.coapply.dev", ClientConfig: registrationv1.WebhookClientConfig{URL: &url, CABundle: authority},
			Rules: []registrationv1.RuleWithOperations{{
				Operations: []registrationv1.OperationType{registrationv1.Create, registrationv1.Update},
				Rule:       registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"services"}},
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.Namespace}},
			SideEffects:             new(registrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(5)),
		}},
	}
	w.create(config)
	w.t.Cleanup(func() { _ = w.Client.Delete(context.WithoutCancel(w.t.Context()), config) })
	kit.WaitFor(w.t, "the webhook is called", func() string { // the API server's admission watches configurations
		try := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "try"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
		if err := w.Client.Create(w.t.Context(), try, client.DryRunAll); err == nil && len(try.Labels) == 0 {
			return "it is not"
		}
		return ""
	})
	return func() { w.delete(config) }
}

// TestWebhookThatChangesOurField: it sets a label of ours otherwise, each time. The condition names the field, and the
// platform rests: the server writes nothing that is as it was.
func TestWebhookThatChangesOurField(t *testing.T) {
	once(t)
	create := slurmControllers()[0]
	w := create.begin(t)
	var asked atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		asked.Add(1)
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
			t.Error(err)
			return
		}
		kind := admissionv1.PatchTypeJSONPatch
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, PatchType: &kind,
			Patch: []byte(`[{"op":"add","path":"/metadata/labels/app.kubernetes.io~1managed-by","value":"webhook"}]`)}
		review.Request = nil
		if err := json.NewEncoder(writer).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	end := w.webhook(server.URL, authority)
	asked.Store(0)
	w.wire.Arm(nil, nil)
	create.does.do(w)
	w.becomes("the Service is there", func() string {
		var service corev1.Service
		if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "x-controller"}, &service); err != nil {
			return err.Error()
		}
		return ""
	})
	w.Quiet(t, 2*time.Second)
	waitForCondition(t, w.Platform, &v1alpha1.SlurmController{}, "x", v1alpha1.ConditionApplied, metav1.ConditionTrue,
		"NotAsWanted", `.metadata.labels["app.kubernetes.io/managed-by"]`, "Service")
	writes := len(w.wire.Requests())
	for range 5 { // each wakes the reconciler
		w.patch(emptySlurm(), fmt.Sprintf(`{"spec":{"resources":{"requests":{"cpu":"%dm"}}}}`, 10+asked.Load()))
		w.Quiet(t, quiet)
	}
	count(t, "asked %d times, %d requests of the manager at first, %d in all", asked.Load(), writes, len(w.wire.Requests()))
	if asked.Load() == 0 || asked.Load() > 40 {
		t.Errorf("the webhook was asked %d times", asked.Load())
	}
	end()
}

// TestWipedAgainAndAgain: somebody empties the managed fields of all that a Devbox has made, ten times, while the Devbox
// changes. Everything of it lands, ours own their fields again, and then nothing more is written.
func TestWipedAgainAndAgain(t *testing.T) {
	once(t)
	for _, s := range append(devboxes()[2:3], slurmControllers()[2:3]...) { // roll: what a change drops stays, as nobody owns it
		t.Run(s.kind+" "+s.act, func(t *testing.T) {
			t.Parallel()
			c := s.follow(t)
			w := s.begin(t)
			w.wiped = true
			w.wire.Arm(nil, nil)
			const times = 10
			for i := range times {
				for _, kind := range []string{"Deployment", "StatefulSet"} {
					w.wipe(appsv1.SchemeGroupVersion.WithKind(kind))
				}
				w.wipe(corev1.SchemeGroupVersion.WithKind("Service"))
				if i == times/2 {
					s.does.do(w)
				}
				kit.Absence(t, 100*time.Millisecond, "the platform to apply again")
			}
			w.endsAs(&s, c)
			count(t, "wiped %d times: %d requests", times, len(w.wire.Requests()))
		})
	}
}
