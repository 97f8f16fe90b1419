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

// pinned is a client for the release of one object, which Release itself pins to the uid only:
// it reads and writes the object only at the resourceVersion that was shown, and at those that
// its own writes make.
type pinned struct {
	client.Client

	version string
	landed  []string // the subresources that were written
}

func (p *pinned) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := p.Client.Get(ctx, key, into, options...)
	if err == nil && into.GetResourceVersion() != p.version {
		return errChanged
	}
	return err
}

type versioned interface {
	GetResourceVersion() string
	SetResourceVersion(version string)
}

// write pins what is sent; the client reads the answer into the same value.
func (p *pinned) write(subresource string, content any, send func() error) error {
	object, ok := content.(versioned)
	if !ok {
		return errors.New("only untyped configurations can be pinned")
	}
	object.SetResourceVersion(p.version)
	if err := send(); err != nil {
		return err
	}
	p.version = object.GetResourceVersion()
	p.landed = append(p.landed, subresource)
	return nil
}

func (p *pinned) Apply(ctx context.Context, config runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	return p.write("", config, func() error { return p.Client.Apply(ctx, config, options...) })
}

// Patch implements client.Client, for the release of an entry of scale, which is pinned
// already.
func (p *pinned) Patch(ctx context.Context, into client.Object, patch client.Patch, options ...client.PatchOption) error {
	return p.write(scale, into, func() error { return p.Client.Patch(ctx, into, patch, options...) })
}

func (p *pinned) SubResource(name string) client.SubResourceClient {
	return pinnedSubresource{p.Client.SubResource(name), p, name}
}

type pinnedSubresource struct {
	client.SubResourceClient

	object *pinned
	name   string
}

func (s pinnedSubresource) Apply(ctx context.Context, config runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
	return s.object.write(s.name, config, func() error { return s.SubResourceClient.Apply(ctx, config, options...) })
}
