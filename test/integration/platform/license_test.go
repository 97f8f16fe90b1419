package platform

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/license"
	"coapply.dev/platform/controllers/user"
	"coapply.dev/test/kit"
)

// createLicense allows one pod, until then.
func (p person) createLicense(notAfter *metav1.Time) {
	p.t.Helper()
	err := p.Client.Create(p.t.Context(), &v1alpha1.License{
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		Spec: v1alpha1.LicenseSpec{NotAfter: notAfter, Limits: corev1.ResourceList{
			corev1.ResourcePods:     resource.MustParse("1"),
			corev1.ResourceServices: resource.MustParse("2000m"), // 2, as it is never written
		}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// licenseIs waits for a phase and a Namespace; in one, also until the quota stands.
func (p person) licenseIs(phase v1alpha1.LicensePhase, namespace string) *v1alpha1.License {
	p.t.Helper()
	want := metav1.ConditionTrue
	if namespace == "" {
		want = metav1.ConditionUnknown
	}
	var l v1alpha1.License
	p.become("the License is "+string(phase), &l, func() string {
		condition := meta.FindStatusCondition(l.Status.Conditions, v1alpha1.ConditionApplied)
		if l.Status.Phase != phase || l.Status.Namespace != namespace || condition == nil || condition.Status != want {
			return fmt.Sprintf("%+v", l.Status)
		}
		return ""
	})
	return &l
}

func (p person) podsAllowed() string {
	p.t.Helper()
	var quota corev1.ResourceQuota
	p.read(license.Quota, &quota)
	pods := quota.Spec.Hard[corev1.ResourcePods]
	return pods.String()
}

// TestLicense begins before its User, and ends after all that can happen to it.
func TestLicense(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "person-licensed")
	p.createLicense(nil)
	p.licenseIs(v1alpha1.LicenseActive, "")
	p.createUser()
	p.userIsComplete()
	l := p.licenseIs(v1alpha1.LicenseActive, p.namespaceName())
	if !slices.Contains(l.Finalizers, license.Finalizer) {
		t.Errorf("finalizers %v", l.Finalizers)
	}
	p.quotaIsEnforced("1")
	p.isCoOwned()
	p.atRest()
	p.eachCorrectsItsOwn()
	p.isCoOwned()
	p.atRest()

	finalizer := "PUT /apis/platform.coapply.dev/v1alpha1/licenses/" + p.name
	if n := count(p.Writes.About(p.name), finalizer); n != 1 {
		t.Errorf("the finalizer was written %d times", n)
	}
	p.warnedOf()

	if err := p.Client.Delete(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	p.gone(p.name, l)
	p.gone(license.Quota, &corev1.ResourceQuota{})
	var namespace corev1.Namespace
	p.read(p.namespaceName(), &namespace)
	if _, limited := namespace.Annotations[license.LimitsAnnotation]; limited || namespace.Labels[license.Label] != "" {
		t.Errorf("left in the Namespace: %v, %v", namespace.Labels, namespace.Annotations)
	}
	for _, entry := range namespace.ManagedFields {
		if entry.Manager == "coapply-license" {
			t.Errorf("still owned: %s", entry.FieldsV1)
		}
	}
	if namespace.Labels[user.OwnerLabel] != p.name || len(namespace.OwnerReferences) != 1 || namespace.Annotations[user.DisplayNameAnnotation] == "" {
		t.Errorf("of the User's is left: %+v", namespace.ObjectMeta)
	}
	p.atRest()
}

func count(all []string, one string) int {
	return len(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s != one }))
}

// quotaIsEnforced holds that one pod is let in and another one is not.
func (p person) quotaIsEnforced(limit string) {
	p.t.Helper()
	if got := p.podsAllowed(); got != limit {
		p.t.Errorf("the quota allows %s pods", got)
	}
	// Until the quota has been counted for the first time every pod waits.
	kit.WaitFor(p.t, "the quota lets a pod in", func() string {
		if err := p.Client.Create(p.t.Context(), newPod(p.namespaceName(), "first")); err != nil {
			return err.Error()
		}
		return ""
	})
	err := p.Client.Create(p.t.Context(), newPod(p.namespaceName(), "second"))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota") {
		p.t.Errorf("a pod too many: %v", err)
	}
}

func (p person) isCoOwned() {
	p.t.Helper()
	for path, want := range map[string]string{
		`.metadata.labels["platform.coapply.dev/owner"]`:             "coapply-user/Apply",
		`.metadata.labels["app.kubernetes.io/managed-by"]`:           "coapply-user/Apply",
		`.metadata.annotations["platform.coapply.dev/display-name"]`: "coapply-user/Apply",
		`.metadata.labels["platform.coapply.dev/license"]`:           "coapply-license/Apply",
		`.metadata.annotations["platform.coapply.dev/limits"]`:       "coapply-license/Apply",
	} {
		if got := p.owners(path); got != want {
			p.t.Errorf("%s is owned by %q, want %s", path, got, want)
		}
	}
}

// eachCorrectsItsOwn changes a field of each owner's at once, and the quota.
func (p person) eachCorrectsItsOwn() {
	p.t.Helper()
	var namespace corev1.Namespace
	p.read(p.namespaceName(), &namespace)
	p.meddle(&namespace, `{"metadata":{"labels":{"platform.coapply.dev/owner":"eve","platform.coapply.dev/license":"Forever"},
		"annotations":{"platform.coapply.dev/limits":"pods=1000","example.com/note":"mine"}}}`)
	var quota corev1.ResourceQuota
	p.read(license.Quota, &quota)
	p.meddle(&quota, `{"spec":{"hard":{"pods":"1000"}}}`)
	kit.WaitFor(p.t, "each has corrected its own", func() string {
		p.read(p.namespaceName(), &namespace)
		got := fmt.Sprint(namespace.Labels[user.OwnerLabel], " ", namespace.Labels[license.Label], " ",
			namespace.Annotations[license.LimitsAnnotation], " ", namespace.Annotations["example.com/note"], " ", p.podsAllowed())
		if want := p.name + " Active pods=1,services=2 mine 1"; got != want {
			return got
		}
		return ""
	})
}

// warnedOf holds that people are warned of that, once each, and of no trouble that
// happened in between.
func (p person) warnedOf(want ...string) {
	p.t.Helper()
	kit.WaitFor(p.t, "the warnings", func() string {
		var list eventsv1.EventList
		if err := p.Client.List(p.t.Context(), &list); err != nil {
			return err.Error()
		}
		var got []string
		for _, event := range list.Items {
			if event.Regarding.Name == p.name && event.Type == corev1.EventTypeWarning {
				got = append(got, fmt.Sprintf("%s %s: %s", event.Regarding.Kind, event.Reason, event.Note))
			}
		}
		return cmp.Diff(want, got)
	})
}

// TestLicenseExpires by the clock alone: the last change from outside comes two seconds before the end.
func TestLicenseExpires(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "person-expires")
	p.createUser()
	p.userIsComplete()
	p.createLicense(&metav1.Time{Time: time.Now().Add(time.Hour)})
	l := p.licenseIs(v1alpha1.LicenseActive, p.namespaceName())
	if got := p.podsAllowed(); got != "1" {
		t.Errorf("while it holds, %s pods are allowed", got)
	}
	p.meddle(l, fmt.Sprintf(`{"spec":{"notAfter":%q}}`, time.Now().Add(2*time.Second).UTC().Format(time.RFC3339)))
	p.licenseIs(v1alpha1.LicenseExpired, p.namespaceName())
	if got := p.podsAllowed(); got != "0" {
		t.Errorf("when it has ended, %s pods are allowed", got)
	}
	var namespace corev1.Namespace
	p.read(p.namespaceName(), &namespace)
	if got := namespace.Annotations[license.LimitsAnnotation]; namespace.Labels[license.Label] != "Expired" || got != "pods=0,services=2" {
		t.Errorf("the Namespace says %v, %s", namespace.Labels, got)
	}
	kit.WaitFor(t, "no pod is let in", func() string {
		err := p.Client.Create(t.Context(), newPod(p.namespaceName(), "late"), client.DryRunAll)
		if !apierrors.IsForbidden(err) {
			return fmt.Sprint(err)
		}
		return ""
	})
	p.atRest()
	p.warnedOf("License Expired: limits are now pods=0,services=2")
}

// TestLicenseWithoutNamespace: a License outlives its User, and goes although there
// is nothing to clean up.
func TestLicenseWithoutNamespace(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "person-leaves")
	p.createUser()
	p.createLicense(nil)
	ada := p.userIsComplete()
	p.licenseIs(v1alpha1.LicenseActive, p.namespaceName())
	if err := p.Client.Delete(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	l := p.licenseIs(v1alpha1.LicenseActive, "")
	// The garbage collector does it as well, when it has come to know of Users (TestUser).
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespaceName()}}
	if err := client.IgnoreNotFound(p.Client.Delete(t.Context(), namespace)); err != nil {
		t.Fatal(err)
	}
	p.gone(p.namespaceName(), &corev1.Namespace{})
	p.licenseIs(v1alpha1.LicenseActive, "")
	p.warnedOf()
	if err := p.Client.Delete(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	p.gone(p.name, l)
}
