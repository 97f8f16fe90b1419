package apply

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// answerCase provokes an answer of the real server; the same call against a
// client that injects it has to get the same.
type answerCase struct {
	reason   string
	injected applytest.Answer
	call     func(c client.Client) error
}

func (a answerCase) run(t *testing.T, c client.Client) {
	t.Helper()
	t.Log(a.reason)
	answered := a.call(c)
	if answered == nil {
		t.Fatal("the real server accepts it")
	}
	injected := a.call(applytest.Inject(t, c, applytest.Fault{Answer: a.injected, Times: applytest.Always}))
	if diff := cmp.Diff(shapeOf(t, answered), shapeOf(t, injected)); diff != "" {
		t.Errorf("real answer and injected one (-real +injected):\n%s", diff)
	}
}

// answerShape is what code can go by, and the text.
type answerShape struct {
	Class  string
	Status metav1.Status
	Raw    bool // out of the http.Client
}

func shapeOf(t *testing.T, err error) answerShape {
	t.Helper()
	s := answerShape{Class: apply.ResultOf(apply.Classify(t.Context(), apply.ObjectRef{}, err))}
	if apply.IsOwnershipConflict(err) {
		s.Class = "Conflict"
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		s.Status = status.Status()
		s.Status.TypeMeta = metav1.TypeMeta{}
		if details := s.Status.Details; details != nil { // a finding of two validations comes twice
			details.Causes = slices.Compact(details.Causes)
		}
	}
	var raw *url.Error
	s.Raw = errors.As(err, &raw)
	return s
}

const applytestManager = client.FieldOwner("applytest")

func TestInjectedAnswersAreTheServers(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	live := ownedDeployment(t, c, namespace)
	before := live.DeepCopy()
	live.Labels = map[string]string{"moved": "on"}
	if err := c.Update(t.Context(), live, client.FieldOwner("kubectl")); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), onePort(namespace, "web"), client.FieldOwner("owner")); err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]answerCase{
		"one conflict": {
			"an Apply manager", applytest.OwnershipConflict(fieldowners.Manager{Name: "owner"}, ".spec.replicas"),
			func(c client.Client) error {
				return c.Apply(t.Context(), kit.Replicas("a", namespace, 3), applytestManager)
			},
		},
		"two conflicts": {
			"another form of message; a list item by key",
			applytest.OwnershipConflict(fieldowners.Manager{Name: "owner"}, ".spec.replicas", `.spec.template.spec.containers[name="web"].image`),
			func(c client.Client) error {
				config := kit.Deployment("a", namespace, "other")
				config.Spec.WithReplicas(3)
				return c.Apply(t.Context(), config, applytestManager)
			},
		},
		"conflict with an updater": {
			"named with apiVersion and time", applytest.OwnershipConflict(labelUpdater(t, live), `.metadata.labels["moved"]`),
			func(c client.Client) error {
				config := kit.Replicas("a", namespace, 5).WithLabels(map[string]string{"moved": "away"})
				return c.Apply(t.Context(), config, applytestManager)
			},
		},
		"conflict on a list item": {
			"the server fills in a key that the intent leaves to its default",
			applytest.OwnershipConflict(fieldowners.Manager{Name: "owner"}, `.spec.ports[port=80,protocol="TCP"].name`),
			func(c client.Client) error {
				return c.Apply(t.Context(), onePort(namespace, "other"), applytestManager)
			},
		},
		"stale update": {
			"the resourceVersion is old", applytest.StaleWrite(),
			func(c client.Client) error {
				stale := before.DeepCopy()
				stale.Annotations = map[string]string{"a": "b"}
				return c.Update(t.Context(), stale)
			},
		},
		"stale force":    {"a forced apply can be pinned", applytest.StaleWrite(), pinnedApply(t, namespace, "a", "", before.ResourceVersion)},
		"uid of nothing": {"an apply with a uid does not create", applytest.UIDGone(), pinnedApply(t, namespace, "none", "0000-1", "")},
		"uid of another": {"the object was recreated", applytest.UIDChanged(), pinnedApply(t, namespace, "a", "0000-1", live.ResourceVersion)},
		"patch with another uid": {
			"as an apply", applytest.UIDChanged(),
			func(c client.Client) error {
				return c.Patch(t.Context(), withOtherUID(live), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"uid":"0000-1"}}`)))
			},
		},
		"update with another uid": {
			"a 409 that looks like a stale write", applytest.UIDChanged(),
			withoutMessage(func(c client.Client) error { return c.Update(t.Context(), withOtherUID(live)) }),
		},
		"deletion of another uid": {
			"its details have the kind for the resource", applytest.UIDChanged(),
			withoutMessage(func(c client.Client) error {
				return c.Delete(t.Context(), live, client.Preconditions{UID: ptr.To(types.UID("0000-1"))})
			}),
		},
		"stale deletion": {
			"its details have the kind for the resource", applytest.StaleWrite(),
			withoutMessage(func(c client.Client) error {
				return c.Delete(t.Context(), live, client.Preconditions{ResourceVersion: &before.ResourceVersion})
			}),
		},
		"name taken": {
			"a creation", applytest.AlreadyExists(),
			func(c client.Client) error { return c.Create(t.Context(), createdAgain(live)) },
		},
		"invalid": {
			"validation", applytest.Invalid("spec.replicas", "Invalid value: -1: must be greater than or equal to 0"),
			func(c client.Client) error {
				return c.Apply(t.Context(), kit.Replicas("a", namespace, -1), applytestManager, client.ForceOwnership)
			},
		},
		"unknown field": {
			"500 with an empty reason", applytest.UnknownField(".spec.nothing"),
			func(c client.Client) error { return c.Apply(t.Context(), unknownFieldIn(namespace), applytestManager) },
		},
		"absent object": {
			"a read", applytest.NotFound(),
			func(c client.Client) error {
				return c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "none"}, &appsv1.Deployment{})
			},
		},
		"absent namespace": {
			"an apply", applytest.NotFound(),
			func(c client.Client) error {
				return c.Apply(t.Context(), kit.Replicas("a", "none", 1), applytestManager)
			},
		},
		"absent object's status": {
			"an apply names the object, not its namespace", applytest.NotFound(),
			func(c client.Client) error {
				return c.Status().Apply(t.Context(), kit.Replicas("none", namespace, 1), applytestManager)
			},
		},
		"too large": {"413", applytest.TooLarge(), func(c client.Client) error {
			return c.Apply(t.Context(), largeConfigMap(namespace, 4<<20), applytestManager)
		}},
		"too large for storage": {"500 with an empty reason", applytest.TooLargeForStorage(), func(c client.Client) error {
			config := kit.Deployment("large", namespace, "v1")
			config.Spec.Template.Spec.Containers[0].WithArgs(strings.Repeat("x", 1600<<10))
			return c.Apply(t.Context(), config, applytestManager)
		}},
	} {
		t.Run(name, func(t *testing.T) { a.run(t, c) })
	}
}

func TestInjectedRefusalsAreTheServers(t *testing.T) {
	config := kit.Server(t)
	c := kit.NewClient(t, config)
	ending := kit.NewNamespace(t, c)
	if err := c.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ending}}); err != nil {
		t.Fatal(err)
	}
	create := func(namespace string) func(client.Client) error {
		return func(c client.Client) error {
			return c.Apply(t.Context(), largeConfigMap(namespace, 1), applytestManager)
		}
	}
	t.Run("terminating namespace", func(t *testing.T) {
		answerCase{"nothing can be created", applytest.NamespaceTerminating(), create(ending)}.run(t, c)
	})

	nobody := rest.CopyConfig(config)
	nobody.Impersonate.UserName = "nobody"
	t.Run("forbidden", func(t *testing.T) {
		answerCase{"no permission", applytest.Forbidden(), withoutMessage(create("default"))}.run(t, kit.NewClient(t, nobody))
	})

	namespace := kit.NewNamespace(t, c)
	brokenWebhook(t, c, namespace)
	t.Run("webhook", func(t *testing.T) {
		answerCase{"it cannot be called", applytest.InternalError(), withoutMessage(func(c client.Client) (err error) {
			kit.WaitFor(t, "the server knows of the webhook", func() string {
				if err = create(namespace)(c); err == nil {
					return "it creates without a call"
				}
				return ""
			})
			return err
		})}.run(t, c)
	})
}

// withoutMessage is for texts that name users and addresses.
func withoutMessage(call func(client.Client) error) func(client.Client) error {
	return func(c client.Client) error {
		err := call(c)
		var status *apierrors.StatusError
		if !errors.As(err, &status) {
			return err
		}
		status.ErrStatus.Message = ""
		if status.ErrStatus.Details != nil {
			for i := range status.ErrStatus.Details.Causes {
				status.ErrStatus.Details.Causes[i].Message = ""
			}
		}
		return status
	}
}

func brokenWebhook(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	webhook := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name:                    "broken.example.com",
			ClientConfig:            admissionv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")},
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.OperationAll},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}
	if err := c.Create(t.Context(), webhook); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.Background(), webhook); err != nil {
			t.Error(err)
		}
	})
}
