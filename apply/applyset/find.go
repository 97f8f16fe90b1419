package applyset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// find lists the members of the set, and judges each.
func (p *pruning) find(ctx context.Context) {
	recorded := p.recorded.scope()
	for _, kind := range recorded.sortedKinds() {
		p.findKind(ctx, kind, sets.List(recorded.namespaces))
	}
}

// findKind lists the members of a kind. The kind is recorded without a version: the known
// versions are tried until one is served.
func (p *pruning) findKind(ctx context.Context, kind schema.GroupKind, namespaces []string) {
	mappings, err := p.sets.members.Client().RESTMapper().RESTMappings(kind)
	if noKind := (*meta.NoKindMatchError)(nil); errors.As(err, &noKind) && !p.emitted.kinds.Has(kind) {
		return // no longer served; a kind that was applied just now must be
	}
	if err != nil {
		p.fail(ctx, apply.ObjectRef{GroupVersionKind: kind.WithVersion("")}, fmt.Errorf("looking for its version: %w", err))
		return
	}
	for _, mapping := range mappings {
		if p.findVersion(ctx, mapping, namespaces) {
			return
		}
	}
	// No known version is served: the kind is gone, or has a new version that this process does
	// not know before a restart. The kind stays recorded.
	p.left.kinds.Insert(kind)
	p.left.namespaces.Insert(namespaces...)
	if p.all {
		p.errs = append(p.errs, &apply.RetryableError{Object: apply.ObjectRef{GroupVersionKind: kind.WithVersion("")}, Err: fmt.Errorf(
			"no version of %v that this process knows is served, and the set of %v may have members of it; start the process again", kind, p.parent)})
	}
}

// findVersion reports whether the server has the kind in this version.
func (p *pruning) findVersion(ctx context.Context, mapping *meta.RESTMapping, namespaces []string) (served bool) {
	switch {
	case mapping.Scope.Name() == meta.RESTScopeNameRoot:
		namespaces = []string{""}
	case p.parent.Namespace != "":
		namespaces = append([]string{p.parent.Namespace}, namespaces...)
	}
	for _, namespace := range namespaces {
		err := p.list(ctx, mapping.GroupVersionKind, namespace)
		if apierrors.IsNotFound(err) {
			return false
		}
		if err != nil {
			p.fail(ctx, apply.ObjectRef{GroupVersionKind: mapping.GroupVersionKind}, err)
		}
	}
	return true
}

// pageSize is the limit of each list request.
const pageSize = 500

func (p *pruning) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) error {
	list := &metav1.PartialObjectMetadataList{}
	for {
		token := list.GetContinue()
		list = &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := p.sets.members.Config().LiveReader.List(ctx, list, client.InNamespace(namespace),
			client.MatchingLabels{PartOfLabel: p.own.id}, client.Limit(pageSize), client.Continue(token))
		if err != nil {
			return fmt.Errorf("listing those of %v: %w", p.parent, err)
		}
		for i := range list.Items {
			p.judge(&list.Items[i], kind)
		}
		if list.GetContinue() == "" {
			return nil
		}
	}
}

// judge decides what becomes of an object that has the set's label.
func (p *pruning) judge(object *metav1.PartialObjectMetadata, kind schema.GroupVersionKind) {
	ref := apply.ObjectRef{
		GroupVersionKind: kind, NamespacedName: client.ObjectKeyFromObject(object),
		UID: object.UID, ResourceVersion: object.ResourceVersion,
	}
	if p.members.Has(ref.Key()) || p.emittedAs[ref.UID] {
		return
	}
	if p.goes(ref, object) {
		p.dropped = append(p.dropped, ref)
	}
}

// goes reports whether a member is to be deleted, and records what becomes of one that is not.
func (p *pruning) goes(ref apply.ObjectRef, object *metav1.PartialObjectMetadata) bool {
	switch reason := p.reasonToKeep(object); {
	case reason != "":
		p.keep(ref, reason)
	case object.DeletionTimestamp == nil:
		return true
	case p.all:
		p.pruned.Left = append(p.pruned.Left, ref)
	default:
		p.keep(ref, "it is being deleted already")
	}
	return false
}

func (p *pruning) reasonToKeep(object *metav1.PartialObjectMetadata) string {
	_, touched := p.emittedAs[object.UID]
	isParent := func(owner metav1.OwnerReference) bool { return owner.UID == p.parent.UID }
	switch owners := object.OwnerReferences; {
	case object.UID == p.parent.UID:
		return "it is the parent itself"
	case touched:
		return "another intent for it is still emitted, with MustExist or a Subresource"
	case len(owners) > 0 && !slices.ContainsFunc(owners, isParent):
		return fmt.Sprintf("its owner is not the parent but the %s %s", owners[0].Kind, owners[0].Name)
	}
	ownership, unread := fieldowners.ParseReadable(object.ManagedFields)
	for _, entry := range unread {
		if entry.Manager == p.sets.members.FieldManager() {
			return "nobody can tell who set the label " + PartOfLabel + ": " + wire.OneLine(entry)
		}
	}
	if owns(p.sets.members, partOfPath, ownership) {
		return ""
	}
	return fmt.Sprintf("%s does not own its label %s", p.sets.members.FieldManager(), PartOfLabel)
}

// owns reports whether the applier owns a field by Apply, and not through a subresource.
func owns(applier *apply.Applier, path fieldowners.Path, ownership fieldowners.Ownership) bool {
	return slices.ContainsFunc(ownership.OwnersOf(path), func(owner fieldowners.Manager) bool {
		return owner.Name == applier.FieldManager() && owner.Operation == metav1.ManagedFieldsOperationApply && owner.Subresource == ""
	})
}

// keep records an object that is not deleted, and that its place stays in the parent's record.
func (p *pruning) keep(object apply.ObjectRef, reason string) {
	p.left.add(object, p.parent)
	p.pruned.Kept = append(p.pruned.Kept, Kept{Object: object, Reason: reason})
}

// lookout decides when kept objects are listed again. Anybody can put the label of a set on an
// object, and a look takes a list for each recorded kind and namespace: so there is a look now
// and then instead of one in each round.
type lookout struct {
	kept     []Kept
	partials partials // the kept objects of partial intents that are not released
	wait     time.Duration
	until    time.Time // when to look again
}

const (
	leastLookout = 5 * time.Second
	mostLookout  = 10 * time.Minute
)

// next returns the lookout after a look. As long as the same objects are kept, the waits grow.
func (l lookout) next(kept []Kept) lookout {
	after := lookout{kept: slices.Clone(kept), wait: leastLookout}
	if slices.EqualFunc(kept, l.kept, Kept.same) {
		after.wait = min(2*l.wait, mostLookout)
	}
	after.until = time.Now().Add(wait.Jitter(after.wait, 0.2))
	return after
}

// due reports whether it is time for a look at kept objects.
func (l lookout) due() bool { return len(l.kept) > 0 && !time.Now().Before(l.until) }

// remembered returns what is kept, without a look.
func (l lookout) remembered() []Kept {
	kept := slices.Clone(l.kept)
	for i := range kept {
		kept[i].Remembered = true
	}
	return kept
}

// mark sets Kept.Remembered of what was kept before.
func (l lookout) mark(kept []Kept) {
	for i, k := range kept {
		kept[i].Remembered = slices.ContainsFunc(l.kept, k.same)
	}
}

func (k Kept) same(other Kept) bool {
	return k.Object.UID == other.Object.UID && k.Reason == other.Reason && k.Object.Key() == other.Object.Key()
}
