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

// find lists the objects with the set's label, in the kinds and namespaces that are recorded in the parent's
// annotations, and decides for each object whether to delete it.
func (p *pruning) find(ctx context.Context) {
	recorded := p.recorded.scope()
	for _, kind := range sets.List(recorded.kinds) {
		p.findKind(ctx, schema.ParseGroupKind(kind), sets.List(recorded.namespaces))
	}
}

// findKind finds the members of one kind. The parent's annotation contains no versions. So findKind tries each version
// of the kind that this process knows, until the API server serves one.
func (p *pruning) findKind(ctx context.Context, kind schema.GroupKind, namespaces []string) {
	mappings, err := p.sets.members.Client().RESTMapper().RESTMappings(kind)
	if _, unknown := errors.AsType[*meta.NoKindMatchError](err); unknown && !p.emitted.kinds.Has(kind.String()) {
		return // the kind is no longer served, which is an error only if an intent has this kind
	}
	if err != nil {
		p.fail(ctx, apply.ObjectRef{GroupVersionKind: kind.WithVersion("")}, fmt.Errorf("looking up the version of the kind: %w", err))
		return
	}
	for _, mapping := range mappings {
		if p.findVersion(ctx, mapping, namespaces) {
			return
		}
	}
	// The API server serves no known version. Either the kind is gone, or it has a new version that this process learns
	// only at its next start. So the kind stays in the parent's annotation.
	p.left.kinds.Insert(kind.String())
	p.left.namespaces.Insert(namespaces...)
	if p.all {
		p.errs = append(p.errs, &apply.RetryableError{Object: apply.ObjectRef{GroupVersionKind: kind.WithVersion("")}, Err: fmt.Errorf(
			"the API server serves no version of %v that this process knows, so the ApplySet of %v may still have members of this kind; restart this process to discover the served versions", kind, p.parent)})
	}
}

// findVersion lists the objects of a kind in one version. It returns false if the version is not served.
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

// pageSize is the maximum number of objects in the response to a list request.
const pageSize = 500

func (p *pruning) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) error {
	for token := ""; ; {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := p.sets.members.Config().LiveReader.List(ctx, list, client.InNamespace(namespace),
			client.MatchingLabels{PartOfLabel: p.own.id}, client.Limit(pageSize), client.Continue(token))
		if err != nil {
			return fmt.Errorf("listing the ApplySet members of %v: %w", p.parent, err)
		}
		for i := range list.Items {
			p.judge(&list.Items[i], kind)
		}
		if token = list.GetContinue(); token == "" {
			return nil
		}
	}
}

// judge decides whether to delete an object with the set's label. It ignores the objects of the intents in this round.
func (p *pruning) judge(object *metav1.PartialObjectMetadata, kind schema.GroupVersionKind) {
	ref := apply.ObjectRef{
		GroupVersionKind: kind, NamespacedName: client.ObjectKeyFromObject(object),
		UID: object.UID, ResourceVersion: object.ResourceVersion,
	}
	if p.members.Has(intentKey{Key: ref.Key()}) || p.emittedAs[ref.UID] {
		return
	}
	if p.goes(ref, object) {
		p.dropped = append(p.dropped, ref)
	}
}

// goes reports whether a member has to be deleted. If not, it records the member in p.pruned, as Kept or as Left.
func (p *pruning) goes(ref apply.ObjectRef, object *metav1.PartialObjectMetadata) bool {
	switch reason := p.reasonToKeep(object); {
	case reason != "":
		p.keep(ref, reason)
	case object.DeletionTimestamp == nil:
		return true
	case p.all:
		p.pruned.Left = append(p.pruned.Left, ref)
	default:
		p.keep(ref, "the object is already being deleted")
	}
	return false
}

func (p *pruning) reasonToKeep(object *metav1.PartialObjectMetadata) string {
	_, touched := p.emittedAs[object.UID]
	isParent := func(owner metav1.OwnerReference) bool { return owner.UID == p.parent.UID }
	switch owners := object.OwnerReferences; {
	case object.UID == p.parent.UID:
		return "the object is the parent itself"
	case touched:
		return "a partial intent (MustExist or a Subresource) for the object is still desired"
	case len(owners) > 0 && !slices.ContainsFunc(owners, isParent):
		return fmt.Sprintf("the object's owner is the %s %s, not the parent", owners[0].Kind, owners[0].Name)
	}
	ownership, unread := fieldowners.ParseReadable(object.ManagedFields)
	for _, entry := range unread {
		if entry.Manager == p.sets.members.FieldManager() {
			return "the owner of the object's label " + PartOfLabel + " is unknown, because a managed fields entry cannot be read: " + wire.OneLine(entry)
		}
	}
	if owns(p.sets.members, partOfPath, ownership) {
		return ""
	}
	return fmt.Sprintf("the field manager %s does not own the object's label %s", p.sets.members.FieldManager(), PartOfLabel)
}

// owns reports whether the applier's field manager owns a field by Server-Side Apply. Ownership through a subresource
// does not count.
func owns(applier *apply.Applier, path fieldowners.Path, ownership fieldowners.Ownership) bool {
	return slices.ContainsFunc(ownership.OwnersOf(path), func(owner fieldowners.Manager) bool {
		return owner.Name == applier.FieldManager() && owner.Operation == metav1.ManagedFieldsOperationApply && owner.Subresource == ""
	})
}

// keep adds an object that is not deleted to p.pruned.Kept, with the given reason. The kind and namespace of the object
// stay in the parent's annotations, so that later rounds find the object.
func (p *pruning) keep(object apply.ObjectRef, reason string) {
	p.left.add(object, p.parent)
	p.pruned.Kept = append(p.pruned.Kept, Kept{Object: object, Reason: reason})
}

// lookout determines when the kept objects of a set (see Kept) are listed again: not in each round, but at intervals
// that grow. Otherwise anybody who puts the set's label on an object could cause list requests in each round.
type lookout struct {
	kept     []Kept        // the kept objects, as of the last listing
	partials partials      // the partial intents whose fields could not be released
	wait     time.Duration // the time from the last listing to the next one
	until    time.Time     // the time of the next listing
}

const (
	leastLookout = 5 * time.Second
	mostLookout  = 10 * time.Minute
)

// next returns the lookout after a listing that found the given kept objects. If the objects and their reasons have not
// changed since the last listing, the wait doubles, up to mostLookout.
func (l lookout) next(kept []Kept) lookout {
	after := lookout{kept: slices.Clone(kept), wait: leastLookout}
	if slices.EqualFunc(kept, l.kept, Kept.same) {
		after.wait = min(2*l.wait, mostLookout)
	}
	after.until = time.Now().Add(wait.Jitter(after.wait, 0.2))
	return after
}

// due reports whether there are kept objects and it is time to list them again.
func (l lookout) due() bool { return len(l.kept) > 0 && !time.Now().Before(l.until) }

// mark sets Remembered to true in each given object that the previous listing returned as well, and to false in the others.
func (l lookout) mark(kept []Kept) []Kept {
	for i, k := range kept {
		kept[i].Remembered = slices.ContainsFunc(l.kept, k.same)
	}
	return kept
}

func (k Kept) same(other Kept) bool {
	return k.Object.UID == other.Object.UID && k.Reason == other.Reason && k.Object.Key() == other.Object.Key()
}
