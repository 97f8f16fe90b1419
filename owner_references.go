package coapply

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// ownerCheck checks the owner references of intents before they are applied. The API server accepts owner references
// that mislead the garbage collector. If the owner is in another namespace than the object, the object is deleted
// although the owner exists. If the owner has a namespace and the object has none, the object is never deleted.
type ownerCheck struct {
	parent schema.GroupVersionKind
	// owned contains the kinds that were given to Owns and not to Watches: only the owner reference leads from an
	// object of such a kind to its parent. The value is true with the option builder.MatchEveryOwner.
	owned map[schema.GroupKind]bool
}

// ownerCheck returns the ownerCheck for the kinds that were given to Owns, or an error if one of these kinds is
// invalid. If a kind was also given to Watches, its objects need no owner reference, because the event handler finds
// their parent.
func (b *Builder[P]) ownerCheck() (ownerCheck, error) {
	parent, err := b.kindOf(newParent[P]())
	if err != nil {
		return ownerCheck{}, err
	}
	check, watched := ownerCheck{parent, map[schema.GroupKind]bool{}}, map[schema.GroupKind]bool{}
	for _, w := range b.watches {
		kind, err := b.kindOf(w.object)
		of := kind.GroupKind()
		_, twice := check.owned[of]
		switch {
		case err != nil:
			return ownerCheck{}, err
		case !w.owned:
			watched[of] = true
		case of == parent.GroupKind():
			return ownerCheck{}, fmt.Errorf("Owns(%T): %s is the kind of the parent, which is already watched; remove this call of Owns", w.object, of)
		case twice:
			return ownerCheck{}, fmt.Errorf("Owns(%T): %s was given to Owns twice; call Owns once for the kind, with all options", w.object, of)
		default:
			check.owned[of] = w.everyOwner
		}
	}
	maps.DeleteFunc(check.owned, func(kind schema.GroupKind, _ bool) bool { return watched[kind] })
	return check, nil
}

// of returns an *apply.IntentError if the owner references of one of the intents are wrong or missing. It ignores an
// invalid intent, because Apply rejects the intent later.
func (c ownerCheck) of(parent client.Object, intents []apply.Intent) error {
	for _, intent := range intents {
		owners, ownersErr := intent.OwnerReferences()
		object, err := intent.Object()
		if ownersErr != nil || err != nil {
			continue
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
	}
	return nil
}

// missing returns an error if an intent that has no owner reference to the parent needs one.
func (c ownerCheck) missing(parent client.Object, intent apply.Intent, object apply.ObjectRef) error {
	if _, owned := c.owned[object.GroupKind()]; !owned || intent.MustExist || intent.Subresource != "" || intent.Belongs != nil {
		return nil
	}
	return fmt.Errorf("the intent has no owner reference to the parent %s, and Owns finds the parent of a %s by the owner reference: "+
		"changes that other writers make to the %[2]s would not be corrected, and the %[2]s would stay when the parent is deleted; "+
		"add WithOwnerReferences(coapply.OwnedBy(parent, kind)), or, if the object cannot have an owner reference, use Watches instead of Owns",
		c.name(parent), object.Kind)
}

// wrong returns an error if the garbage collector or Owns cannot use the given owner reference, which has the uid of
// the parent.
func (c ownerCheck) wrong(parent client.Object, owner metav1ac.OwnerReferenceApplyConfiguration, object apply.ObjectRef) error {
	group, err := schema.ParseGroupVersion(ptr.Deref(owner.APIVersion, ""))
	kind, name := ptr.Deref(owner.Kind, ""), ptr.Deref(owner.Name, "")
	everyOwner, owned := c.owned[object.GroupKind()]
	switch namespace := parent.GetNamespace(); {
	case err != nil || group.Group != c.parent.Group || kind != c.parent.Kind || name != parent.GetName():
		return fmt.Errorf("the owner reference with the uid of the parent %s has the kind %s, name %q and apiVersion %q, "+
			"but the parent has another kind, name or API group (apiVersion %q): the garbage collector deletes an object whose owner does not exist; "+
			"pass the parent and its own kind to coapply.OwnedBy", c.name(parent), kind, name, ptr.Deref(owner.APIVersion, ""), c.parent.GroupVersion())
	case namespace != "" && object.Namespace == "":
		return fmt.Errorf("the owner reference names the parent %s, which is in a namespace, and the %s has no namespace: "+
			"the garbage collector never finds such an owner; leave the owner reference out, and have Prune with a Finalizer delete the %[2]s, "+
			"or give the %[2]s the namespace %[3]q if the kind has namespaces", c.name(parent), object.Kind, namespace)
	case namespace != "" && object.Namespace != namespace:
		return fmt.Errorf("the owner reference names the parent %s, and the %s is in the namespace %q: the garbage collector deletes "+
			"an object whose owner is in another namespace; leave the owner reference out, and have Prune with a Finalizer delete the %[2]s, "+
			"or emit the %[2]s into the namespace %[4]q", c.name(parent), object.Kind, object.Namespace, namespace)
	case owned && !everyOwner && !ptr.Deref(owner.Controller, false):
		return fmt.Errorf("the owner reference to the parent %s does not set controller: true, and Owns finds the parent only by an owner reference "+
			"with controller: true; make the owner reference with coapply.OwnedBy, or give Owns the option builder.MatchEveryOwner", c.name(parent))
	}
	return nil
}

func (c ownerCheck) name(parent client.Object) string {
	return apply.ObjectRef{GroupVersionKind: c.parent, NamespacedName: client.ObjectKeyFromObject(parent)}.String()
}
