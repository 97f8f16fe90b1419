package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// What the API server makes of owners, and what our API makes of that. Elsewhere:
// releases (release_test.go), releases and finalizers of objects that went away
// (gone_verbs_test.go, gone_update_test.go), a finalizer that two own
// (TestCoOwnedFinalizer), handing over by renaming an entry, and what csaupgrade
// drops (transfer_*_test.go), and a last entry that is deleted
// (TestReleaseOfTheLastEntry).
//
// Not here, as no request shows it: the CPU that managers cost (measured in the
// field manager alone), FieldsV1 under the build tag fieldsv1string (it has to
// compile: fieldowners reads GetRawBytes), structured-merge-diff's FromJSON
// (fieldowners/ownership_test.go), the deep copies of controller-runtime's cache,
// finalizers that pod templates hand on (devbox_pods_test.go), the share
// of no-ops that bump the resourceVersion (statistics), and the fake client.

func (f *facts) refer(name string) apply.ObjectRef {
	return kit.RefOf("v1", "ConfigMap", f.namespace, name)
}

// holds compares values and owners of a ConfigMap, key by key.
func (f *facts) holds(name, reason string, want map[string]string) {
	f.Helper()
	got, err := states(f.live(name))
	f.must(err)
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

func (f *facts) patch(name, body, manager string) {
	f.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
	f.must(f.c.Patch(f.Context(), object, client.RawPatch(types.MergePatchType, []byte(body)), client.FieldOwner(manager)))
}

func TestFactsOfRelease(t *testing.T) {
	f := newFacts(t)
	f.applied("them", "a", map[string]string{"k": "theirs", "stays": "theirs"})
	us := f.applier("us", apply.OnConflict(apply.Force))
	kit.MustApply(t, us, apply.Intent{Config: f.configMap("a", map[string]string{"k": "ours"})})
	f.holds("a", "forced", map[string]string{"k": "ours of us", "stays": "theirs of them"})
	outcome, err := ownership.Release(t.Context(), us, f.refer("a"))
	if err != nil || outcome.Action != apply.Configured || outcome.Requests != 2 {
		t.Errorf("%+v, %v", outcome, err)
	}
	f.holds("a", "the value before the force does not return", map[string]string{"stays": "theirs of them"})

	// The plain way brings back what was deleted; Release does not.
	f.must(f.c.Delete(t.Context(), f.live("a")))
	if outcome, err := ownership.Release(t.Context(), us, f.refer("a")); err != nil || outcome.Action != apply.Absent || outcome.Requests != 1 {
		t.Errorf("%+v, %v; want Absent after a read", outcome, err)
	}
	f.must(f.c.Apply(t.Context(), corev1ac.ConfigMap("a", f.namespace), client.FieldOwner("us")))
	f.live("a")
}

// TestFactsOfManagerNames: a name is no proof of who writes, unless admission holds
// it.
func TestFactsOfManagerNames(t *testing.T) {
	f := newFacts(t)
	f.applied("owner", "a", map[string]string{"k": "v", "l": "v"})
	role := metav1.ObjectMeta{Namespace: f.namespace, Name: "patcher"}
	f.must(f.c.Create(t.Context(), &rbacv1.Role{ObjectMeta: role, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "patch", "update"}}}}))
	f.must(f.c.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: role,
		Subjects: []rbacv1.Subject{{Kind: "User", Name: "mallory"}}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "patcher"}}))
	config := kit.Server(t)
	config.Impersonate.UserName = "mallory"
	mallory := kit.NewClient(t, config)
	posing := kit.NewApplier(t, mallory, "owner", apply.Policy{})

	// Nothing is forced, no conflict is met, and the field is gone.
	outcome, err := posing.Apply(t.Context(), apply.Intent{Config: f.configMap("a", map[string]string{"k": "v"})})
	if err != nil || len(outcome.Conflicts) > 0 || outcome.Requests != 1 {
		t.Errorf("under the owner's name: %+v, %v", outcome, err)
	}
	f.holds("a", "under the owner's name", map[string]string{"k": "v of owner"})
	forged := f.live("a")
	forged.ManagedFields[0].Manager = "mallory"
	f.must(mallory.Update(t.Context(), forged, client.FieldOwner("mallory")))
	f.holds("a", "forged managed fields", map[string]string{"k": "v of mallory"})

	f.forbidPosing()
	kit.WaitFor(t, "the server knows the policy", func() string {
		if _, err = posing.Apply(t.Context(), apply.Intent{Config: f.configMap("a", map[string]string{"k": "v"})}); err == nil {
			return "it lets us pose"
		}
		return ""
	})
	if !errors.Is(err, apply.ErrRefused) || answer(err) != "422 Invalid" {
		t.Errorf("under the owner's name: %s, %v; want the policy's refusal", answer(err), err)
	}
	forged = f.live("a")
	for i := range forged.ManagedFields { // mallory's, and what owner's name got before the policy was known
		forged.ManagedFields[i].Manager = "somebody"
	}
	if err := mallory.Update(t.Context(), forged, client.FieldOwner("mallory")); !apierrors.IsInvalid(err) {
		t.Errorf("forged managed fields: %v; want the policy's refusal", err)
	}
	if _, err := kit.NewApplier(t, mallory, "mallory", apply.Policy{}).Apply(t.Context(),
		apply.Intent{Config: f.configMap("a", map[string]string{"own": "v"})}); err != nil {
		t.Errorf("under the own name: %v", err)
	}
}

// forbidPosing has admission hold manager names to user names.
func (f *facts) forbidPosing() {
	const own = `request.userInfo.username != "mallory" || `
	named := metav1.ObjectMeta{Name: "own-names-" + f.namespace}
	fail := admissionv1.Fail
	f.must(f.c.Create(f.Context(), &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: named, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail,
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}}}},
		Validations: []admissionv1.Validation{
			{Expression: own + `request.options.fieldManager == "mallory"`, Message: "a field manager is the user's name"},
			// What others own stays theirs: every foreign entry is as it was.
			{Expression: own + `object.metadata.managedFields.filter(e, e.manager != "mallory").all(e, oldObject.metadata.managedFields.exists(o, o == e))`,
				Message: "managed fields of others stay as they are"},
		},
	}}))
	f.must(f.c.Create(f.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: named, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: named.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"kubernetes.io/metadata.name": f.namespace}}},
	}}))
}

// TestFactsOfPhantoms: owners that nobody is, and that a policy can name.
func TestFactsOfPhantoms(t *testing.T) {
	f := newFacts(t)
	take := func(phantom string) *apply.Applier {
		return f.applier("us", apply.OnConflict(apply.Reject).When(apply.Match{Path: ".data.k", Manager: phantom}, apply.Force))
	}
	intent := apply.Intent{Config: f.configMap("a", map[string]string{"k": "ours"})}

	f.applied("them", "a", map[string]string{"k": "theirs"})
	if _, err := take("before-first-apply").Apply(t.Context(), intent); !errors.Is(err, apply.ErrConflict) {
		t.Errorf("with an owner: %v", err)
	}
	f.patch("a", `{"metadata":{"managedFields":[{}]}}`, "wiper")
	if live := f.live("a"); len(live.ManagedFields) > 0 {
		t.Fatalf("not wiped: %v", live.ManagedFields)
	}
	outcome, err := take("before-first-apply").Apply(t.Context(), intent)
	if err != nil || outcome.Requests != 4 || len(outcome.Conflicts) != 1 ||
		outcome.Conflicts[0].Manager.String() != "before-first-apply/Update" || outcome.Conflicts[0].Path.String() != ".data.k" {
		t.Errorf("wiped: %+v, %v", outcome, err)
	}
	f.holds("a", "taken from the phantom", map[string]string{"k": "ours of us"})

	// Eleven of them update: the oldest become one.
	f.applied("them", "b", map[string]string{"k": "v"})
	want := map[string]string{"k": "v of them"}
	for i, name := range strings.Split("abcdefghijkl", "") { // of one second, the first by name are the oldest
		f.patch("b", fmt.Sprintf(`{"data":{"k-%s":"theirs"}}`, name), "updater-"+name)
		want["k-"+name] = "theirs of updater-" + name
		if i < 3 {
			want["k-"+name] = "theirs of ancient-changes"
		}
	}
	f.holds("b", "Update managers are capped", want)
	ancient := f.applier("us", apply.OnConflict(apply.Reject).When(apply.Match{Manager: "ancient-changes"}, apply.Relinquish))
	outcome, err = ancient.Apply(t.Context(), apply.Intent{Config: f.configMap("b", map[string]string{"k-a": "ours", "mine": "ours"})})
	want["mine"] = "ours of us"
	if err != nil || len(outcome.Conflicts) != 1 || outcome.Conflicts[0].Manager.Name != "ancient-changes" {
		t.Errorf("%+v, %v", outcome, err)
	}
	f.holds("b", "left to whoever it was", want)
}

// TestFactsOfManyAppliers: the server does not cap them.
func TestFactsOfManyAppliers(t *testing.T) {
	f := newFacts(t)
	for i := range 40 {
		kit.MustApply(t, f.applier(fmt.Sprintf("applier-%d", i), apply.Policy{}),
			apply.Intent{Config: f.configMap("a", map[string]string{fmt.Sprintf("k%d", i): "v"})})
	}
	live := f.live("a")
	raw, err := json.Marshal(live.ManagedFields)
	f.must(err)
	t.Logf("%d entries, %d bytes", len(live.ManagedFields), len(raw))
	if len(live.ManagedFields) != 40 || len(raw) < 40*100 {
		t.Errorf("%d entries with %d bytes", len(live.ManagedFields), len(raw))
	}
}

// TestFactsOfConfigurations: the client writes the answer into what it is given,
// and Extract gives nothing from an object whose managed fields were stripped.
func TestFactsOfConfigurations(t *testing.T) {
	f := newFacts(t)
	f.applied("them", "a", map[string]string{"theirs": "v"})
	config := f.configMap("a", map[string]string{"ours": "v"})
	us, err := apply.New(f.c, apply.Config{FieldManager: "us", LiveReader: f.c})
	f.must(err)
	for range 2 {
		kit.MustApply(t, us, apply.Intent{Config: config})
	}
	if diff := cmp.Diff(f.configMap("a", map[string]string{"ours": "v"}), config); diff != "" {
		t.Errorf("ours was written to (-before +after):\n%s", diff)
	}
	f.holds("a", "applied twice", map[string]string{"ours": "v of us", "theirs": "v of them"})
	for range 2 {
		f.must(f.c.Apply(t.Context(), config, client.FieldOwner("plain")))
	}
	f.holds("a", "an answer applied again", map[string]string{"ours": "v of plain, us", "theirs": "v of plain, them"})

	stripped := f.live("a")
	stripped.ManagedFields = nil
	extracted, err := corev1ac.ExtractConfigMap(stripped, "us")
	if err != nil || len(extracted.Data) > 0 {
		t.Fatalf("extracted %v, %v; want nothing and no error", extracted.Data, err)
	}
}

// TestFactsOfPut: a PUT with a part of the managed fields erases the rest.
func TestFactsOfPut(t *testing.T) {
	f := newFacts(t)
	for _, manager := range []string{"one", "two"} {
		f.applied(manager, "a", map[string]string{manager: "v"})
	}
	whole := map[string]string{"one": "v of one", "two": "v of two"}
	partial := func() *corev1.ConfigMap {
		object := f.live("a")
		object.ManagedFields = slices.DeleteFunc(object.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager != "one" })
		return object
	}
	label := func(o *corev1.ConfigMap) error {
		metav1.SetMetaDataLabel(&o.ObjectMeta, "at", o.ResourceVersion)
		return nil
	}
	if _, err := update.Do(t.Context(), newUpdater(t, f.c, update.DefaultRetry), partial(), label); err != nil {
		t.Fatal(err)
	}
	f.holds("a", "ours carries none", whole)
	empty := f.live("a")
	empty.ManagedFields = []metav1.ManagedFieldsEntry{}
	f.must(f.c.Update(t.Context(), empty, client.FieldOwner("plain")))
	f.holds("a", "an empty list keeps the live ones", whole)
	f.must(f.c.Update(t.Context(), partial(), client.FieldOwner("plain")))
	f.holds("a", "a partial one erases", map[string]string{"one": "v of one", "two": "v of "})
}

// TestFactsOfTheLastChild: what gives way leaves no claim on what it stood in.
func TestFactsOfTheLastChild(t *testing.T) {
	f := newFacts(t)
	base := kit.Deployment("a", f.namespace, "v1")
	base.Spec.WithReplicas(5)
	kit.MustApply(t, f.applier("them", apply.Policy{}), apply.Intent{Config: base})
	us := f.applier("us", apply.OnConflict(apply.Relinquish))
	kit.MustApply(t, us, apply.Intent{Config: kit.Replicas("a", f.namespace, 1), MustExist: true})
	if owners := kit.OwnersOf(t, f.c, f.namespace, "a", ".spec"); len(owners) > 0 {
		t.Errorf(".spec is owned by %v", owners)
	}
	// The plain way claims it.
	empty := kit.Replicas("a", f.namespace, 1)
	empty.Spec.Replicas = nil
	f.must(f.c.Apply(t.Context(), empty, client.FieldOwner("plain")))
	if owners := kit.OwnersOf(t, f.c, f.namespace, "a", ".spec"); !cmp.Equal(owners, []string{"plain/Apply"}) {
		t.Errorf(".spec is owned by %v", owners)
	}
}

// TestFactsOfMetadataThroughStatus: an apply of a status may set labels and annotations as well. Which of them the API
// server keeps, and records an owner of, depends on the kind and on the version of Kubernetes. So whatif does not
// compute an apply like this.
func TestFactsOfMetadataThroughStatus(t *testing.T) {
	c := kit.ShapeClient(t)
	namespace := kit.NewNamespace(t, c)
	custom := "[] []"
	if !kit.ServerAtLeast(t, "1.36.0") { // 1.35 was not tried
		custom = "[us/Apply[status]] [us/Apply[status]]"
	}
	for kind, want := range map[string]string{"Deployment": "[] [us/Apply[status]]", "Shape": custom} {
		s := kit.NewStage(t, c, namespace, kind, "status")
		s.Apply("us", "{metadata: {labels: {a: x}, annotations: {a: x}}, status: {conditions: [{type: Ready, status: 'True'}]}}")
		if got := fmt.Sprint(s.Owners(".metadata.labels.a"), s.Owners(".metadata.annotations.a")); got != want {
			t.Errorf("%s: the owners of the label and of the annotation are %s, want %s", kind, got, want)
		}
	}
}
