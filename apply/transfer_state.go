package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// transferState is an object as a transfer finds it at one resourceVersion, and
// what the transfer does to it.
type transferState struct {
	uid             types.UID
	resourceVersion string
	entries         []metav1.ManagedFieldsEntry
	objects         fieldowners.Objects
	plan            fieldowners.TransferPlan
	done            bool // entries are as the plan leaves them
	stale           bool // a write told that the object is at another resourceVersion
	sent            int  // writes and dry runs, of former states as well
}

// read reads the object live and plans. sent is how many writes were sent before.
func (t *Transfer) read(ctx context.Context, sent int) (state *transferState, err error) {
	exhausted, err := wire.Tries(ctx, IsStaleWrite, func() (err error) {
		state, err = t.readOnce(ctx)
		return err
	})
	switch {
	case exhausted:
		return nil, &ContendedError{Object: t.object, Attempts: sent, Err: err}
	case err != nil:
		return nil, err
	}
	state.sent = sent
	return state, nil
}

func (t *Transfer) readOnce(ctx context.Context) (*transferState, error) {
	live, err := t.get(ctx, t.object.GroupVersionKind)
	switch {
	case apierrors.IsNotFound(err) && t.object.UID != "":
		return nil, &UIDMismatchError{Object: t.object, Err: errAbsent}
	case err != nil:
		return nil, Classify(ctx, t.object, fmt.Errorf("reading it: %w", err))
	case t.object.UID != "" && t.object.UID != live.GetUID():
		return nil, &UIDMismatchError{Object: t.object, Err: fmt.Errorf("the live object has uid %s", live.GetUID())}
	case live.GetUID() == "" || live.GetResourceVersion() == "":
		return nil, &RefusedError{Object: t.object, Err: errors.New("LiveReader gave it without uid or resourceVersion, so that no write can be guarded")}
	}
	state := &transferState{
		uid: live.GetUID(), resourceVersion: live.GetResourceVersion(), entries: live.GetManagedFields(),
		objects: fieldowners.Objects{t.object.GroupVersion().String(): live.Object},
	}
	if state.plan, err = t.fields.Plan(state.entries, state.objects); err != nil {
		return nil, &RefusedError{Object: t.object, Err: err}
	}
	if len(state.plan.Unread) == 0 {
		return state, nil
	}
	if err := t.readVersions(ctx, state); err != nil {
		return nil, err
	}
	if state.plan, err = t.fields.Plan(state.entries, state.objects); err != nil {
		return nil, &RefusedError{Object: t.object, Err: err}
	}
	return state, nil
}

// readVersions reads the object in the apiVersions that the plan needs, all at one
// resourceVersion, or else it is a stale write: to be read again.
func (t *Transfer) readVersions(ctx context.Context, state *transferState) error {
	for _, version := range state.plan.Unread {
		kind := schema.FromAPIVersionAndKind(version, t.object.Kind)
		object, err := t.get(ctx, kind)
		switch {
		case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
			state.objects[version] = nil
		case err != nil:
			return Classify(ctx, t.object, fmt.Errorf("reading it in %s: %w", version, err))
		case object.GetUID() != state.uid || object.GetResourceVersion() != state.resourceVersion:
			return &StaleWriteError{Object: t.object, Err: errors.New("it changed between reads in two apiVersions")}
		default:
			state.objects[version] = object.Object
		}
	}
	return nil
}

func (t *Transfer) get(ctx context.Context, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object, t.applier.config.LiveReader.Get(ctx, t.object.NamespacedName, object)
}

type patchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// send stores the managed fields and gives those of the answer. The guards are
// replacements, as a test that fails is a 422 that only its text tells from others:
// another resourceVersion is a stale write, another uid an immutable field.
func (t *Transfer) send(ctx context.Context, state *transferState, after []metav1.ManagedFieldsEntry, options ...client.PatchOption) ([]metav1.ManagedFieldsEntry, error) {
	patch, err := json.Marshal([]patchOperation{
		{"replace", "/metadata/uid", state.uid},
		{"replace", "/metadata/resourceVersion", state.resourceVersion},
		{"replace", "/metadata/managedFields", after},
	})
	if err != nil {
		return nil, &RefusedError{Object: t.object, Err: err}
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(t.object.GroupVersionKind)
	object.SetNamespace(t.object.Namespace)
	object.SetName(t.object.Name)
	options = append(options, client.FieldOwner(t.applier.config.FieldManager))
	state.sent++
	err = t.applier.client.Patch(ctx, object, client.RawPatch(types.JSONPatchType, patch), options...)
	if apierrors.IsNotFound(err) {
		return nil, &UIDMismatchError{Object: t.object, Err: errAbsent}
	}
	return object.GetManagedFields(), Classify(ctx, t.object, err)
}
