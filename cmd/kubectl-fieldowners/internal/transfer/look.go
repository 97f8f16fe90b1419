package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// lookedAt is what a release would give up on an object as it is.
type lookedAt struct {
	object    apply.ObjectRef // with uid and resourceVersion
	ownership fieldowners.Ownership
	parts     []part // the object itself first
}

// part is what is given up on the object or a subresource.
type part struct {
	subresource string
	plan        apply.Plan
	undo        *unstructured.Unstructured // nil if only ownership is given up, which no apply restores
	missing     []fieldowners.Path         // in the undo
}

const (
	looks = 8
	scale = "scale"
)

// look returns what a release would do, by a dry run, and what would undo it, both at one
// resourceVersion.
func (r *releaseCommand) look(ctx context.Context, object apply.ObjectRef) (lookedAt, error) {
	for range looks {
		looked, same, err := r.lookOnce(ctx, object)
		if err != nil || same {
			return looked, err
		}
	}
	return lookedAt{}, fmt.Errorf("%v: it changes all the time, so that nobody can tell what a release gives up: try again", object)
}

func (r *releaseCommand) lookOnce(ctx context.Context, object apply.ObjectRef) (looked lookedAt, same bool, err error) {
	live, err := r.read(ctx, object, object.GroupVersion().String())
	if err != nil {
		return looked, false, err
	}
	looked.object, same = object, true
	looked.object.ResourceVersion = live.GetResourceVersion()
	if looked.ownership, err = fieldowners.Parse(live.GetManagedFields()); err != nil {
		return looked, false, fmt.Errorf("%v: %w", object, err)
	}
	for _, entry := range looked.ownership.Entries() {
		if entry.Name != r.manager || entry.Operation != metav1.ManagedFieldsOperationApply {
			continue
		}
		if entry.APIVersion != live.GetAPIVersion() {
			if live, err = r.read(ctx, object, entry.APIVersion); err != nil {
				return looked, false, fmt.Errorf("reading the fields of %s in their version, which the undo needs: %w", r.manager, err)
			}
		}
		found := part{subresource: entry.Subresource}
		if entry.Subresource != scale {
			found.undo, found.missing = configurationOf(live, looked.ownership, entry.Manager)
		}
		if found.plan, err = r.plan(ctx, looked, entry); err != nil {
			return looked, false, err
		}
		same = same && live.GetResourceVersion() == looked.object.ResourceVersion && found.plan.Object.ResourceVersion == live.GetResourceVersion()
		looked.parts = append(looked.parts, found)
	}
	slices.SortStableFunc(looked.parts, func(a, b part) int { return strings.Compare(a.subresource, b.subresource) })
	return looked, same, nil
}

func (r *releaseCommand) read(ctx context.Context, object apply.ObjectRef, apiVersion string) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, object.Kind))
	return live, r.client.Get(ctx, object.NamespacedName, live)
}

// plan returns the plan of giving up one entry, by a dry run. For scale only the entry goes,
// and the value stays.
func (r *releaseCommand) plan(ctx context.Context, looked lookedAt, entry fieldowners.Entry) (apply.Plan, error) {
	if entry.Subresource == scale {
		return scalePlan(looked, entry), nil
	}
	applier, err := r.applier(r.manager)
	if err != nil {
		return apply.Plan{}, err
	}
	named := &unstructured.Unstructured{}
	named.SetGroupVersionKind(looked.object.GroupVersionKind)
	named.SetNamespace(looked.object.Namespace)
	named.SetName(looked.object.Name)
	intent := apply.Intent{
		Config: client.ApplyConfigurationFromUnstructured(named), UID: looked.object.UID, Subresource: entry.Subresource,
	}
	if intent.Subresource != "" {
		intent.Body = intent.Config // an intent without a status is accepted only as a Body
	}
	plan, err := applier.Plan(ctx, intent)
	if apierrors.IsInvalid(err) {
		return plan, fmt.Errorf("%w; it cannot be without what %s gives up: hand the fields over by migrate --operation Apply", err, r.manager)
	}
	return plan, err
}

func scalePlan(looked lookedAt, entry fieldowners.Entry) apply.Plan {
	plan := apply.Plan{Object: looked.object, Subresource: entry.Subresource}
	for _, path := range entry.Leaves() {
		others := slices.DeleteFunc(looked.ownership.OwnersOf(path), func(m fieldowners.Manager) bool { return m == entry.Manager })
		plan.Dropped = append(plan.Dropped, apply.Dropped{Change: fieldowners.Change{Path: path}, Stays: true, Owners: others})
	}
	return plan
}

func (l lookedAt) count() (fields int) {
	for _, part := range l.parts {
		fields += len(part.plan.Dropped)
	}
	return fields
}

// isAll reports whether nobody else is recorded as an owner.
func (l lookedAt) isAll() bool { return len(l.parts) > 0 && len(l.parts) == len(l.ownership.Entries()) }

// errChanged means that the object is no longer at the resourceVersion that was shown, whose
// values the undo file has.
var errChanged = errors.New("it was changed after it was looked at: look again")

// pinned returns a client for the release of one object, which Release itself binds to the
// uid only: it reads and writes nothing but the resourceVersion that was shown, and
// those that its own writes lead to. written reports whether any of its writes landed.
func pinned(to client.WithWatch, version string) (bound client.Client, written func() bool) {
	landed := false
	// write pins what is sent; the client reads the answer into the same value.
	write := func(object metav1.Object, send func() error) error {
		object.SetResourceVersion(version)
		if err := send(); err != nil {
			return err
		}
		version, landed = object.GetResourceVersion(), true
		return nil
	}
	return interceptor.NewClient(to, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
			err := c.Get(ctx, key, into, options...)
			if err == nil && into.GetResourceVersion() != version {
				return errChanged
			}
			return err
		},
		Apply: func(ctx context.Context, c client.WithWatch, config runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return write(config.(metav1.Object), func() error { return c.Apply(ctx, config, options...) })
		},
		// This is how a release takes an entry of scale away, pinned already.
		Patch: func(ctx context.Context, c client.WithWatch, into client.Object, patch client.Patch, options ...client.PatchOption) error {
			return write(into, func() error { return c.Patch(ctx, into, patch, options...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, name string, config runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			return write(config.(metav1.Object), func() error { return c.SubResource(name).Apply(ctx, config, options...) })
		},
	}), func() bool { return landed }
}
