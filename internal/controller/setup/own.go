package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply/reconciler"
)

var (
	errForeign          = fmt.Errorf("it was there before and is %w", reconciler.ErrNotOurs)
	errForeignNamespace = fmt.Errorf("its Namespace is %w", reconciler.ErrNotOurs)
	errNoNamespace      = errors.New("its Namespace is not there")
)

// ownOnly is the client that the appliers get. It shows them no object that has the
// name of one of ours and does not belong to us, and refuses to apply to one: the
// field managers of such an object need not disagree with us (a Service without a
// selector conflicts with nothing), and its fields are not ours to force.
//
// It looks in the cache. An object that appears between the look and the apply is
// protected by its conflicts alone.
type ownOnly struct {
	client.Client

	belongs func(client.Object) bool
	within  func(*corev1.Namespace) bool // nil: any
}

// Get has a foreign object as absent.
func (c ownOnly) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if err := c.Client.Get(ctx, key, object, opts...); err != nil {
		return err
	}
	if !c.belongs(object) {
		resource, err := c.resource(object)
		if err != nil {
			return err
		}
		return apierrors.NewNotFound(resource, key.Name)
	}
	return nil
}

// Apply refuses what would change a foreign object.
func (c ownOnly) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	wanted, object, err := c.target(config)
	if err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(wanted)
	if err := c.mayWriteIn(ctx, key.Namespace); err != nil {
		return err
	}
	err = c.Client.Get(ctx, key, object)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err == nil && !c.belongs(object):
		return errForeign
	}
	return c.Client.Apply(ctx, config, opts...)
}

// mayWriteIn refuses a Namespace that is not as the writer says it must be.
func (c ownOnly) mayWriteIn(ctx context.Context, name string) error {
	if c.within == nil || name == "" {
		return nil
	}
	var namespace corev1.Namespace
	err := c.Client.Get(ctx, client.ObjectKey{Name: name}, &namespace)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err != nil:
		return errNoNamespace
	case !c.within(&namespace):
		return errForeignNamespace
	case namespace.DeletionTimestamp != nil:
		return errGoing(name)
	}
	return nil
}

// errGoing is what the API server answers where a Namespace is being deleted.
func errGoing(name string) error {
	err := apierrors.NewForbidden(corev1.Resource("namespaces"), name, errors.New("it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}

// target reads which object a configuration is for, and gives an empty one of the
// type that the informers have.
func (c ownOnly) target(config runtime.ApplyConfiguration) (*metav1.PartialObjectMetadata, client.Object, error) {
	body, err := json.Marshal(config)
	if err != nil {
		return nil, nil, err
	}
	wanted := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(body, wanted); err != nil {
		return nil, nil, err
	}
	known, err := c.Scheme().New(wanted.GroupVersionKind())
	if err != nil {
		return nil, nil, err
	}
	object, ok := known.(client.Object)
	if !ok {
		return nil, nil, fmt.Errorf("%T is no object", known)
	}
	return wanted, object, nil
}

func (c ownOnly) resource(object client.Object) (schema.GroupResource, error) {
	kind, err := c.GroupVersionKindFor(object)
	if err != nil {
		return schema.GroupResource{}, err
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return resource.GroupResource(), nil
}

// ControlledBy tells whether an object is controlled by our kind's object of a
// name. It goes by the name, not the uid: an object of the parent that had the name
// before is about to be collected.
func ControlledBy(object metav1.Object, kind, name string) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && owner.Kind == kind && owner.Name == name && owner.APIVersion == v1alpha1.SchemeGroupVersion.String()
}

// Orphaned tells whether an object is controlled by nobody and says in a label whose
// it is, as one does whose owner reference somebody took off.
func Orphaned(object metav1.Object, label, name string) bool {
	return metav1.GetControllerOf(object) == nil && object.GetLabels()[label] == name
}

// OwnedBy makes a parent the controller of an object, which is therefore
// garbage-collected with it.
func OwnedBy(kind string, parent metav1.Object) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1alpha1.SchemeGroupVersion.String()).
		WithKind(kind).
		WithName(parent.GetName()).
		WithUID(parent.GetUID()).
		WithController(true).
		WithBlockOwnerDeletion(true)
}
