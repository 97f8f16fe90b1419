package ownership_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit/memory"
)

func TestTransferInput(t *testing.T) {
	w := newWorld(t, oldReplicas)
	type verb func(context.Context, *apply.Applier, apply.ObjectRef, ...ownership.From) (*ownership.Transfer, error)
	from := func(manager string, paths ...string) []ownership.From {
		return []ownership.From{{Manager: manager, Paths: paths}}
	}
	noName, noKind, noURL, noNamespace := theWeb(""), theWeb(""), theWeb(""), theWeb("")
	noName.Name, noKind.Kind, noURL.Namespace, noNamespace.Namespace = "", "", "a/b", ""
	for reason, test := range map[string]struct {
		verb   verb
		object apply.ObjectRef
		from   []ownership.From
		want   string
	}{
		"no manager":            {ownership.Migrate, theWeb(""), nil, "Migrate: name at least one manager"},
		"empty name":            {ownership.Rename, theWeb(""), from(""), "Rename: From[0] (): the name of a manager is needed"},
		"twice":                 {ownership.Rename, theWeb(""), append(from("a"), from("a")...), "From[1] (a): the manager is named twice; put all paths into one From"},
		"bad path":              {ownership.Migrate, theWeb(""), from("a", "spec"), `From[0] (a): path "spec": at offset 0`},
		"the root":              {ownership.Migrate, theWeb(""), from("a", ""), "a path is empty; leave Paths empty to move all fields"},
		"a path twice":          {ownership.Migrate, theWeb(""), from("a", ".spec", ".spec"), "path .spec is named twice"},
		"no name of an object":  {ownership.Migrate, noName, from("a"), "the reference to the object has no name"},
		"no kind":               {ownership.Migrate, noKind, from("a"), "the reference to the object has no kind"},
		"an empty reference":    {ownership.Rename, apply.ObjectRef{}, from("a"), "the reference to the object has no version and kind and name"},
		"no namespace":          {ownership.Migrate, noNamespace, from("a"), "a namespace is needed: Deployment is namespaced"},
		"a name that is no URL": {ownership.Migrate, noURL, from("a"), `name "web" in namespace "a/b" cannot be part of a URL`},
	} {
		_, err := test.verb(t.Context(), w.applier, test.object, test.from...)
		if !errors.Is(err, apply.ErrInvalidIntent) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", reason, err, test.want)
		}
	}
	w.WantSent()
}

func TestTransferEnded(t *testing.T) {
	w := newWorld(t, oldReplicas)
	transfer := w.migrate()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if undo, err := transfer.Do(ctx); !errors.Is(err, context.Canceled) || undo != nil {
		t.Errorf("got %v %v; nothing is sent once the context has ended", undo, err)
	}
	w.WantSent(read)

	ctx, cancel = context.WithCancel(t.Context())
	w.Before(2, cancel)
	if undo, err := transfer.Do(ctx); !errors.Is(err, context.Canceled) || undo == nil {
		t.Errorf("got %v %v; the write may have landed: the undo comes with the error", undo, err)
	}
}

func TestTransferHidesSecrets(t *testing.T) {
	w := newWorld(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "key"}, Data: map[string][]byte{"k": []byte("hunter2")}}
	w.Must(w.Create(t.Context(), secret, client.FieldOwner("old")))
	w.Answer(2, apierrors.NewBadRequest("hunter2 is no good"))
	key := theWeb("")
	key.GroupVersionKind, key.Name = corev1.SchemeGroupVersion.WithKind("Secret"), "key"
	transfer, err := ownership.Migrate(t.Context(), w.applier, key, ownership.From{Manager: "old"})
	w.Must(err)
	if _, err = transfer.Do(t.Context()); !errors.Is(err, apply.ErrRefused) || strings.Contains(err.Error()+transfer.String(), "hunter2") {
		t.Errorf("got %v\n%v", err, transfer)
	}
}

// versions is a reader that gives an autoscaler in each apiVersion.
type versions struct {
	client.Reader

	byVersion map[string]func(*unstructured.Unstructured) error
}

func (v versions) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	u := into.(*unstructured.Unstructured)
	u.SetUID("uid-1")
	u.SetResourceVersion("7")
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "old", Operation: "Update", APIVersion: "autoscaling/v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:maxReplicas":{},"f:targetCPUUtilizationPercentage":{}}}`),
	}})
	u.Object["spec"] = map[string]any{"maxReplicas": int64(5)}
	if special := v.byVersion[u.GetAPIVersion()]; special != nil {
		return special(u)
	}
	return nil
}

func TestTransferVersions(t *testing.T) {
	kind := autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
	notServed := func(u *unstructured.Unstructured) error {
		return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{u.GetAPIVersion()}}
	}
	moved := 0
	changing := func(u *unstructured.Unstructured) error { // before the third read only
		if moved++; moved < 3 {
			u.SetResourceVersion("6")
		}
		return nil
	}
	always := func(u *unstructured.Unstructured) error { u.SetUID("uid-2"); return nil }
	broken := func(*unstructured.Unstructured) error { return apierrors.NewForbidden(deployments, "web", nil) }
	for name, test := range map[string]struct {
		reason string
		v1     func(*unstructured.Unstructured) error
		moves  []string
		kept   string
		err    error
	}{
		"both":       {"what is equal in both moves", nil, []string{".spec.maxReplicas"}, ".spec.targetCPUUtilizationPercentage of old/Update: the object has no such field in autoscaling/v1", nil},
		"not served": {"all is kept", notServed, nil, "autoscaling/v1 is no longer served", nil},
		"changing":   {"reads at two resourceVersions prove nothing: again", changing, []string{".spec.maxReplicas"}, "", nil},
		"always":     {"bounded", always, nil, "", apply.ErrContended},
		"forbidden":  {"that is no reason to keep", broken, nil, "", apply.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				t.Log(test.reason)
				w := memory.New(t)
				live := versions{byVersion: map[string]func(*unstructured.Unstructured) error{"autoscaling/v1": test.v1}}
				applier, err := apply.New(w.Client(w.Config(), nil), apply.Config{FieldManager: manager, LiveReader: live})
				if err != nil {
					t.Fatal(err)
				}
				ref := theWeb("")
				ref.GroupVersionKind = kind
				transfer, err := ownership.Migrate(t.Context(), applier, ref, ownership.From{Manager: "old"})
				if !errors.Is(err, test.err) || test.err == nil && err != nil {
					t.Errorf("error %v, want %v", err, test.err)
				}
				if err != nil {
					return
				}
				var paths []string
				for _, m := range transfer.Moves() {
					paths = append(paths, m.Path.String())
				}
				if diff := cmp.Diff(test.moves, paths); diff != "" || !strings.Contains(transfer.String(), test.kept) {
					t.Errorf("moves (-want +got):\n%s\n%v", diff, transfer)
				}
			})
		})
	}
}
