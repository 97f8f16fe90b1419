package coapply

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
)

// ownerCheck checks the owner references of intents before they are applied. The API server accepts owner references
// that mislead the garbage collector. If the owner is in another namespace than the object, the object is deleted
// although the owner exists. If the owner has a namespace and the object has none, the object is never deleted.
type ownerCheck struct {
	parent schema.GroupVersionKind
	// owned contains the kinds that were given to Owns and not to Watches: only the owner reference leads from an
	// object of such a kind to its parent. everyOwner contains the kinds that were given to Owns with the option
	// builder.MatchEveryOwner.
	owned, everyOwner map[schema.GroupKind]bool
}

// ownerCheck returns the ownerCheck for the kinds that were passed to Owns. If a kind was also passed to Watches,
// its objects need no owner reference, because the event handler finds their parent.
func (b *Builder[P]) ownerCheck(parent client.Object) (ownerCheck, error) {
	kind, err := b.kindOf(parent)
	if err != nil {
		return ownerCheck{}, err
	}
	check := ownerCheck{parent: kind, owned: map[schema.GroupKind]bool{}, everyOwner: map[schema.GroupKind]bool{}}
	for _, o := range b.owned {
		kind, err := b.kindOf(o.object)
		if err != nil {
			return ownerCheck{}, err
		}
		check.owned[kind.GroupKind()] = true
		check.everyOwner[kind.GroupKind()] = slices.Contains(o.opts, builder.OwnsOption(builder.MatchEveryOwner))
	}
	for _, object := range b.watched {
		kind, err := b.kindOf(object)
		if err != nil {
			return ownerCheck{}, err
		}
		delete(check.owned, kind.GroupKind())
	}
	return check, nil
}

// checkingOwners wraps an emit function. The returned function also fails if the owner references of an intent are
// wrong or missing.
func checkingOwners[P client.Object](check ownerCheck, emit func(P) (reconciler.Emission, error)) func(P) (reconciler.Emission, error) {
	return func(parent P) (reconciler.Emission, error) {
		emission, err := emit(parent)
		if err != nil {
			return emission, err
		}
		for _, intent := range emission.Intents {
			if err := check.of(parent, intent); err != nil {
				return reconciler.Emission{}, err
			}
		}
		return emission, nil
	}
}

// of returns an *apply.IntentError if the owner references of an intent are wrong or missing. It returns nil for an
// invalid intent, because Apply rejects the intent later.
func (c ownerCheck) of(parent client.Object, intent apply.Intent) error {
	owners, err := intent.OwnerReferences()
	if err != nil {
		return nil //nolint:nilerr // Apply returns the error
	}
	object, err := intent.Object()
	if err != nil {
		return nil //nolint:nilerr // Apply returns the error
	}
	i := slices.IndexFunc(owners, func(o metav1ac.OwnerReferenceApplyConfiguration) bool { return ptr.Deref(o.UID, "") == parent.GetUID() })
	if i < 0 {
		err = c.missing(parent, intent, object)
	} else {
		err = c.wrong(parent, owners[i], object)
	}
	if err != nil {
		return &apply.IntentError{Object: object, Err: err}
	}
	return nil
}

// missing returns an error if an intent needs an owner reference to the parent. An intent with MustExist,
// Subresource or Belongs needs none. Only objects of a kind that was passed to Owns and not to Watches need an owner
// reference.
func (c ownerCheck) missing(parent client.Object, intent apply.Intent, object apply.ObjectRef) error {
	if intent.MustExist || intent.Subresource != "" || intent.Belongs != nil || !c.owned[object.GroupKind()] {
		return nil
	}
	return fmt.Errorf("the intent has no owner reference to the parent %s, and Owns finds the parent of a %s by the owner reference: "+
		"changes of the %[2]s by others would not be corrected, and the %[2]s would stay when the parent is deleted; "+
		"add WithOwnerReferences(coapply.OwnedBy(parent, kind)). For an object that cannot have an owner reference, use Watches in place of Owns",
		c.name(parent), object.Kind)
}

// wrong returns an error if the garbage collector or Owns cannot use the given owner reference, which has the uid of
// the parent.
func (c ownerCheck) wrong(parent client.Object, owner metav1ac.OwnerReferenceApplyConfiguration, object apply.ObjectRef) error {
	group, err := schema.ParseGroupVersion(ptr.Deref(owner.APIVersion, ""))
	kind, name := ptr.Deref(owner.Kind, ""), ptr.Deref(owner.Name, "")
	switch namespace := parent.GetNamespace(); {
	case err != nil || group.Group != c.parent.Group || kind != c.parent.Kind || name != parent.GetName():
		return fmt.Errorf("the owner reference with the uid of the parent %s has the kind %s, name %q and apiVersion %q, "+
			"of which at least one is not the parent's: the garbage collector deletes an object whose owner it cannot find; "+
			"pass the parent and its own kind to coapply.OwnedBy", c.name(parent), kind, name, ptr.Deref(owner.APIVersion, ""))
	case namespace != "" && object.Namespace == "":
		return fmt.Errorf("the owner reference names the parent %s, which is in a namespace, and the %s has no namespace: "+
			"the garbage collector never finds such an owner; leave the owner reference out, and have Prune with a Finalizer delete the %[2]s, "+
			"or give the %[2]s the namespace %[3]q if the kind has namespaces", c.name(parent), object.Kind, namespace)
	case namespace != "" && object.Namespace != namespace:
		return fmt.Errorf("the owner reference names the parent %s, and the %s is in the namespace %q: the garbage collector deletes "+
			"an object whose owner is in another namespace; leave the owner reference out, and have Prune with a Finalizer delete the %[2]s, "+
			"or emit the %[2]s into the namespace %[4]q", c.name(parent), object.Kind, object.Namespace, namespace)
	case c.owned[object.GroupKind()] && !c.everyOwner[object.GroupKind()] && !ptr.Deref(owner.Controller, false):
		return fmt.Errorf("the owner reference to the parent %s does not set controller: true, and Owns finds the parent only by an owner reference "+
			"with controller: true; make the owner reference with coapply.OwnedBy, or give Owns the option builder.MatchEveryOwner", c.name(parent))
	}
	return nil
}

func (c ownerCheck) name(parent client.Object) string {
	return apply.ObjectRef{GroupVersionKind: c.parent, NamespacedName: client.ObjectKeyFromObject(parent)}.String()
}
