package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

var (
	errForeignNamespace = fmt.Errorf("its Namespace is %w", apply.ErrNotOurs)
	errNoNamespace      = errors.New("its Namespace is not there")
)

// withinOnly is a client whose applies land in certain Namespaces only: what is put into
// somebody else's Namespace conflicts with nothing there. It looks in the cache.
type withinOnly struct {
	client.Client

	within func(*corev1.Namespace) bool
}

// Apply refuses what would go into another Namespace.
func (c withinOnly) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	body, err := json.Marshal(config)
	if err != nil {
		return err
	}
	var wanted metav1.PartialObjectMetadata
	if err := json.Unmarshal(body, &wanted); err != nil {
		return err
	}
	if err := c.mayWriteIn(ctx, wanted.Namespace); err != nil {
		return err
	}
	return c.Client.Apply(ctx, config, opts...)
}

// Patch, by which fields are taken back, is refused alike.
func (c withinOnly) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := c.mayWriteIn(ctx, object.GetNamespace()); err != nil {
		return err
	}
	return c.Client.Patch(ctx, object, patch, opts...)
}

// mayWriteIn refuses a Namespace that is not as the writer says it must be.
func (c withinOnly) mayWriteIn(ctx context.Context, name string) error {
	if name == "" {
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

// mayWrite shows the steady-state check the objects that may be applied to. Any other is
// not proven to be as wanted, so that the apply is refused and says why.
type mayWrite struct{ withinOnly }

func (r mayWrite) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if err := r.mayWriteIn(ctx, key.Namespace); err != nil {
		return errors.New(err.Error()) // it is no answer of the server's about rights
	}
	return r.Client.Get(ctx, key, object, opts...)
}
