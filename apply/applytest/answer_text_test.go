package applytest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"coapply.dev/apply/applytest"
	"coapply.dev/fieldowners"
)

// TestAnswersReadAsTheServers: each text is that of an API server, which names the verb, the
// kind or the resource.
func TestAnswersReadAsTheServers(t *testing.T) {
	const conflict = `Apply failed with 1 conflict: conflict with "hpa"`
	by := func(m fieldowners.Manager) applytest.Answer { return applytest.OwnershipConflict(m, ".spec.replicas") }
	uid := types.UID("uid-1")
	pinned := client.Preconditions{UID: &uid}
	update := func(c client.Client) error { return c.Update(t.Context(), web()) }
	remove := func(c client.Client) error { return c.Delete(t.Context(), web(), pinned) }
	create := func(c client.Client) error { return c.Create(t.Context(), web()) }
	apply := func(c client.Client) error { return c.Apply(t.Context(), pinnedReplicas(), owner) }
	applyStatus := func(c client.Client) error { return c.Status().Apply(t.Context(), pinnedReplicas(), owner) }
	for _, tc := range []struct {
		answer applytest.Answer
		call   func(client.Client) error
		want   string
	}{
		{by(fieldowners.Manager{Name: "hpa"}), apply, conflict + ": .spec.replicas"},
		{by(fieldowners.Manager{Name: "hpa", Subresource: "scale"}), apply, conflict + ` with subresource "scale": .spec.replicas`},
		{by(fieldowners.Manager{Name: "hpa", Operation: "Apply"}), apply, conflict + ": .spec.replicas"},
		{by(hpa), apply, conflict + ` with subresource "scale" using apps/v1: .spec.replicas`},
		{applytest.OwnershipConflict(fieldowners.Manager{Name: "hpa"}, ".spec.replicas", ".spec"), apply,
			"Apply failed with 2 conflicts: conflicts with \"hpa\":\n- .spec.replicas\n- .spec"},

		{applytest.StaleWrite(), update, `Operation cannot be fulfilled on deployments.apps "web": the object has been modified; ` +
			"please apply your changes to the latest version and try again"},
		{applytest.StaleWrite(), remove, `Operation cannot be fulfilled on Deployment.apps "web": the ResourceVersion in the precondition ` +
			"does not match the ResourceVersion in record. The object might have been modified"},
		{applytest.UIDGone(), apply, `Operation cannot be fulfilled on deployments.apps "web": uid mismatch: ` +
			"the provided object specified uid uid-1, and no existing object was found"},
		{applytest.UIDChanged(), apply, `Deployment.apps "web" is invalid: metadata.uid: Invalid value: "uid-1": field is immutable`},
		{applytest.UIDChanged(), applyStatus, `Deployment.apps "web" is invalid: metadata.uid: Invalid value: "uid-1": field is immutable`},
		{applytest.UIDChanged(), func(c client.Client) error { return c.Patch(t.Context(), web(), merge) },
			`Deployment.apps "web" is invalid: metadata.uid: Invalid value: "uid-1": field is immutable`},
		{applytest.UIDChanged(), func(c client.Client) error { return c.Status().Patch(t.Context(), web(), merge) },
			`Deployment.apps "web" is invalid: metadata.uid: Invalid value: "uid-1": field is immutable`},
		{applytest.UIDChanged(), update, `Operation cannot be fulfilled on deployments.apps "web": StorageError: invalid object, Code: 4, ` +
			"AdditionalErrorMsg: Precondition failed: UID in precondition: uid-1"},
		{applytest.UIDChanged(), remove, `Operation cannot be fulfilled on Deployment.apps "web": the UID in the precondition ` +
			"does not match the UID in record. The object might have been deleted and then recreated"},
		{applytest.AlreadyExists(), create, `deployments.apps "web" already exists`},

		{applytest.NotFound(), create, `namespaces "shop" not found`},
		{applytest.NotFound(), apply, `namespaces "shop" not found`},
		{applytest.NotFound(), applyStatus, `deployments.apps "web" not found`},
		{applytest.NotFound(), update, `deployments.apps "web" not found`},

		{applytest.ConnectionReset(), update, `Put "https://applytest.invalid/deployments": write tcp: connection reset by peer`},
		{applytest.ConnectionReset(), func(c client.Client) error { return c.Get(t.Context(), client.ObjectKeyFromObject(web()), web()) },
			`Get "https://applytest.invalid/deployments": write tcp: connection reset by peer`},
	} {
		err := tc.call(applytest.Inject(t, fakeClient(), applytest.Fault{Answer: tc.answer}))
		if diff := cmp.Diff(tc.want, message(err)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tc.answer, diff)
		}
	}
}

// TestTerminatingNamespaceIsNamed: the cause by which clients tell it from missing permission.
func TestTerminatingNamespaceIsNamed(t *testing.T) {
	err := applytest.Inject(t, fakeClient(), applytest.Fault{Answer: applytest.NamespaceTerminating()}).Create(t.Context(), web())
	if !apierrors.HasStatusCause(err, "NamespaceTerminating") {
		t.Errorf("%v has no cause", err)
	}
}

// TestResourceIsTheMappers: where the client's mapper knows the resource, it is not guessed.
func TestResourceIsTheMappers(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Sheep"}
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.AddSpecific(kind, kind.GroupVersion().WithResource("sheep"), kind.GroupVersion().WithResource("sheep"), apimeta.RESTScopeNamespace)
	sheep := &unstructured.Unstructured{}
	sheep.SetGroupVersionKind(kind)
	sheep.SetName("dolly")
	c := applytest.Inject(t, fake.NewClientBuilder().WithRESTMapper(mapper).Build(), applytest.Fault{Answer: applytest.NotFound()})
	if err := c.Update(t.Context(), sheep); message(err) != `sheep.example.com "dolly" not found` {
		t.Error(err)
	}
}

// TestAnswersArePrecise holds what the tables of faults do not reach.
func TestAnswersArePrecise(t *testing.T) {
	got := stops(t, func(t *testingT) {
		applytest.Inject(t, fakeClient(), applytest.Fault{Answer: applytest.TooManyRequests(1500 * time.Millisecond)})
	})
	if want := "applytest: fault 1 of 1: Answer: TooManyRequests(1.5s): a server asks for one or more whole seconds"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	got = stops(t, func(t *testingT) {
		applytest.Inject(t, fakeClient(), applytest.Fault{
			Call: applytest.Call{Verb: applytest.VerbList, Subresource: "status"}, Answer: applytest.Forbidden()})
	})
	if want := "applytest: fault 1 of 1: Call.Subresource: there is no list of one"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestForcedFault meets forced applies alone.
func TestForcedFault(t *testing.T) {
	c := applytest.Inject(t, failingClient(), applytest.Fault{Call: applytest.Call{Forced: true}, Answer: applytest.Forbidden()})
	if err := c.Apply(t.Context(), threeReplicas(), owner); message(err) != errOwn.Error() {
		t.Errorf("not forced: %v", err)
	}
	if err := c.Apply(t.Context(), threeReplicas(), owner, client.ForceOwnership); !apierrors.IsForbidden(err) {
		t.Errorf("forced: %v", err)
	}
}

// TestBodyThatIsNotRead: what a patch in CBOR carries is not judged.
func TestBodyThatIsNotRead(t *testing.T) {
	for _, answer := range []applytest.Answer{applytest.OwnershipConflict(hpa, ".spec.replicas"), applytest.UIDChanged()} {
		c := applytest.Inject(t, fakeClient(), applytest.Fault{Answer: answer})
		named := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}}
		if err := c.Patch(t.Context(), named, client.RawPatch(types.ApplyCBORPatchType, []byte{0xd9, 0xd9, 0xf7}), owner); err == nil {
			t.Errorf("%v was not given", answer)
		}
	}
}
