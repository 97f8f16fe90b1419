package devbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
)

var errForeign = errors.New("it was there before and is not the Devbox's")

// ownOnly is the client that the appliers get. It shows them no object that has a
// Devbox's name and is not the Devbox's, and refuses to apply to one: the field
// managers of such an object need not disagree with us (a Service without a
// selector conflicts with nothing), and its replicas are not ours to force.
//
// It looks in the cache. An object that appears between the look and the apply is
// protected by its conflicts alone.
type ownOnly struct{ client.Client }

// Get has a foreign object as absent.
func (c ownOnly) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if err := c.Client.Get(ctx, key, object, opts...); err != nil {
		return err
	}
	if !isDevboxes(object, key.Name) {
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
	err = c.Client.Get(ctx, key, object)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err == nil && !isDevboxes(object, key.Name):
		return errForeign
	}
	return c.Client.Apply(ctx, config, opts...)
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

// isDevboxes tells whether an object is that of the Devbox of a name: it is
// controlled by it, or by nobody and labelled with it, as one is whose owner
// reference somebody took off. It goes by the name, not the uid: an object of the
// Devbox that had the name before is about to be collected.
func isDevboxes(object metav1.Object, name string) bool {
	owner := metav1.GetControllerOf(object)
	if owner == nil {
		return object.GetLabels()[Label] == name
	}
	return owner.Kind == "Devbox" && owner.Name == name && owner.APIVersion == v1alpha1.SchemeGroupVersion.String()
}
