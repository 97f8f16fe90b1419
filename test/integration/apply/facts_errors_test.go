package apply

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// What the API server answers to writes that fail, and what our API makes of it.
// Elsewhere: a retry that burns its attempts on an ownership conflict
// (TestRetryOnConflictBurnsItsAttempts), a conflict with two matching paths
// (TestTwoFieldsOfOneName), objects that go away (gone_test.go), and each answer
// that only a broken network or proxy gives (apply/failures_test.go).

// facts is what the tests of this file and of facts_ownership_test.go share.
type facts struct {
	*testing.T

	c         client.Client
	namespace string
}

func newFacts(t *testing.T, wrap ...func(http.RoundTripper) http.RoundTripper) *facts {
	t.Helper()
	config := rest.CopyConfig(kit.Server(t))
	for _, w := range wrap {
		config.Wrap(w)
	}
	c := kit.NewClient(t, config)
	return &facts{T: t, c: c, namespace: kit.NewNamespace(t, c)}
}

func (f *facts) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *facts) applier(manager string, policy apply.Policy) *apply.Applier {
	return kit.NewApplier(f, f.c, manager, policy)
}

func (f *facts) configMap(name string, data map[string]string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(name, f.namespace).WithData(data)
}

// applied applies as a manager that knows nothing of us.
func (f *facts) applied(manager, name string, data map[string]string) {
	f.Helper()
	f.must(f.c.Apply(f.Context(), f.configMap(name, data), client.FieldOwner(manager), client.ForceOwnership))
}

func (f *facts) live(name string) *corev1.ConfigMap {
	f.Helper()
	live := &corev1.ConfigMap{}
	f.must(f.c.Get(f.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, live))
	return live
}

// answer gives the server's answer that an error of ours wraps: code and reason.
func answer(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	return fmt.Sprintf("%d %s", status.Status().Code, status.Status().Reason)
}

// fact is a write that fails.
type fact struct {
	reason   string
	intent   apply.Intent
	class    error
	answer   string
	says     string // the message holds it
	requests int
}

func (f *facts) hold(rows []fact) {
	applier := f.applier("us", apply.Policy{})
	for _, row := range rows {
		outcome, err := applier.Apply(f.Context(), row.intent)
		if !errors.Is(err, row.class) || answer(err) != row.answer || outcome.Requests != row.requests || outcome.Action != "" {
			f.Errorf("%s: %s %s after %d requests; want %v %s after %d\n%.300v", row.reason,
				apply.ResultOf(err), answer(err), outcome.Requests, row.class, row.answer, row.requests, err)
		}
		if err != nil && !strings.Contains(err.Error(), row.says) {
			f.Errorf("%s: %.300q does not hold in it %q", row.reason, err.Error(), row.says)
		}
	}
}

func TestFactsOfRefusals(t *testing.T) {
	f := newFacts(t)
	object := func(spec map[string]any) runtime.ApplyConfiguration {
		return client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec,
			"metadata": map[string]any{"name": "a", "namespace": f.namespace}}})
	}
	twice := kit.Deployment("a", f.namespace, "v1")
	twice.Spec.Template.Spec.WithContainers(corev1ac.Container().WithName("web").WithImage("v2"))
	// A ConfigMap is refused by its own validation from 1 MiB on.
	sized := func(bytes int) apply.Intent {
		big := kit.Deployment("big", f.namespace, "v1")
		big.Spec.Template.Spec.Containers[0].WithEnv(corev1ac.EnvVar().WithName("BIG").WithValue(strings.Repeat("x", bytes)))
		return apply.Intent{Config: big}
	}
	const mib = 1 << 20
	const unknown, refusedForGood = "500 ", "was refused: "
	f.must(f.c.Create(f.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "a"}}))
	f.hold([]fact{
		{"unknown field", apply.Intent{Config: object(map[string]any{"nope": int64(1)})}, apply.ErrRefused, unknown, "field not declared in schema", 1},
		{"wrong type", apply.Intent{Config: object(map[string]any{"replicas": "one"})}, apply.ErrRefused, unknown, refusedForGood, 1},
		{"duplicate list key", apply.Intent{Config: twice}, apply.ErrRefused, unknown, `name="web"`, 1},
		{"1.6 MiB", sized(16 * mib / 10), apply.ErrRefused, unknown, "request is too large", 1},
		{"2 MiB", sized(2 * mib), apply.ErrRefused, unknown, "ResourceExhausted", 1},
		{"3.2 MiB", sized(32 * mib / 10), apply.ErrRefused, "413 RequestEntityTooLarge", refusedForGood, 1},
		{"condition without lastTransitionTime", apply.Intent{
			Config: policyv1ac.PodDisruptionBudget("a", f.namespace).WithStatus(policyv1ac.PodDisruptionBudgetStatus().WithConditions(
				metav1ac.Condition().WithType("Ready").WithStatus(metav1.ConditionTrue).WithReason("Up").WithMessage(""))),
			Subresource: "status",
		}, apply.ErrRefused, "422 Invalid", "lastTransitionTime: Required value", 1},
		{"a resourceVersion protects nothing in an apply that is not forced", apply.Intent{
			Config: f.configMap("none", nil).WithResourceVersion("1"),
		}, apply.ErrInvalidIntent, "", "metadata.resourceVersion", 0},
	})
	// Why we refuse a resourceVersion: it creates what is absent.
	f.must(f.c.Apply(f.Context(), f.configMap("none", nil).WithResourceVersion("1"), client.FieldOwner("us")))
	f.live("none")
}

func TestFactsOfTheEnd(t *testing.T) {
	f := newFacts(t)
	f.applied("them", "a", map[string]string{"k": "v"})
	held := f.live("a")
	held.Finalizers = []string{"example.com/held"}
	f.must(f.c.Update(f.Context(), held, client.FieldOwner("them")))
	f.must(f.c.Delete(f.Context(), held))
	// A namespace that is being deleted keeps its objects here: nothing empties it.
	f.must(f.c.Delete(f.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}))
	f.hold([]fact{
		{"nothing new in a namespace that is being deleted", apply.Intent{Config: f.configMap("new", nil)},
			apply.ErrRefused, "403 Forbidden", "being terminated", 1},
		{"no new finalizer on an object that is being deleted", apply.Intent{Config: f.configMap("a", nil).WithFinalizers("example.com/new")},
			apply.ErrRefused, "422 Invalid", "no new finalizers can be added", 1},
	})
	outcome, err := f.applier("us", apply.Policy{}).Apply(f.Context(), apply.Intent{Config: f.configMap("a", map[string]string{"ours": "v"})})
	if err != nil || outcome.Action != apply.Configured || f.live("a").Data["ours"] != "v" {
		f.Errorf("an apply to what exists there: %+v, %v", outcome, err)
	}
	result, err := update.EnsureFinalizer(f.Context(), newUpdater(f, f.c, update.DefaultRetry), f.live("a"), "example.com/new")
	if !errors.Is(err, update.ErrBeingDeleted) || result.Attempts != 1 {
		f.Errorf("EnsureFinalizer: %+v, %v", result, err)
	}
}

// TestFactsOf409: four answers with one code and reason, told apart.
func TestFactsOf409(t *testing.T) {
	f := newFacts(t)
	f.applied("them", "a", map[string]string{"k": "theirs"})
	first := f.live("a")
	f.applied("them", "a", map[string]string{"k": "theirs", "more": "theirs"})
	raw := func(config *corev1ac.ConfigMapApplyConfiguration, options ...client.ApplyOption) error {
		return f.c.Apply(f.Context(), config, append(options, client.FieldOwner("us"))...)
	}
	conflicting := func() *corev1ac.ConfigMapApplyConfiguration { return f.configMap("a", map[string]string{"k": "ours"}) }
	for _, row := range []struct {
		reason              string
		err                 error
		ownership, absentID bool
	}{
		{"ownership conflict", raw(conflicting()), true, false},
		{"a conflict wins over a stale resourceVersion", raw(conflicting().WithResourceVersion(first.ResourceVersion)), true, false},
		{"and over a wrong uid", raw(conflicting().WithUID("other")), true, false},
		{"a stale resourceVersion", raw(f.configMap("a", nil).WithResourceVersion(first.ResourceVersion)), false, false},
		{"force does not pass one", raw(conflicting().WithResourceVersion(first.ResourceVersion), client.ForceOwnership), false, false},
		{"a uid where there is nothing", raw(f.configMap("none", nil).WithUID("other")), false, true},
	} {
		if !apierrors.IsConflict(row.err) || apply.IsOwnershipConflict(row.err) != row.ownership || apply.IsStaleWrite(row.err) == row.ownership {
			f.Errorf("%s: %v", row.reason, row.err)
		}
		if told := strings.Contains(row.err.Error(), "uid mismatch"); told != row.absentID {
			f.Errorf("%s: only the text tells it from a stale write: %v", row.reason, row.err)
		}
	}
	// Ours tells the uid apart by a read, whichever way the server answers.
	us := f.applier("us", apply.OnConflict(apply.Force))
	for name, requests := range map[string]int{"a": 2, "none": 2} {
		intent := f.configMap(name, map[string]string{"k": "ours"}).WithUID("other")
		outcome, err := us.Apply(f.Context(), apply.Intent{Config: intent})
		if mismatch, is := errors.AsType[*apply.UIDMismatchError](err); !is || mismatch.Object.UID != "other" || outcome.Requests != requests {
			f.Errorf("%s: %v after %d requests", name, err, outcome.Requests)
		}
	}
	outcome, err := us.Apply(f.Context(), apply.Intent{Config: f.configMap("a", nil).WithUID("other")})
	if !errors.Is(err, apply.ErrUIDMismatch) || answer(err) != "422 Invalid" || outcome.Requests != 1 {
		f.Errorf("without a conflict: %s, %v after %d requests", answer(err), err, outcome.Requests)
	}
	if live := f.live("a"); live.Data["k"] != "theirs" {
		f.Errorf("something landed: %v", live.Data)
	}
}
