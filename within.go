package coapply

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// Within returns the same Runtime, limited to applies in Namespaces for which may returns true.
// Without it, an apply in somebody else's Namespace succeeds: where there is no such object yet,
// nobody owns a field of it, and nothing conflicts. Within reads Namespaces from
// the manager's cache, so the manager must be allowed to watch them. Nothing is applied in a
// Namespace that does not exist or is being deleted. Updates, and objects without a namespace,
// are not limited.
func (rt *Runtime) Within(may func(namespace *corev1.Namespace) bool) *Runtime {
	limited := *rt
	limited.within = may
	return &limited
}

var (
	errForeignNamespace = fmt.Errorf("its Namespace is %w", apply.ErrNotOurs)
	errNoNamespace      = errors.New("its Namespace is not there")
)

// mayWriteIn returns an error for a Namespace that Within excludes.
func (rt *Runtime) mayWriteIn(ctx context.Context, name string) error {
	if rt.within == nil || name == "" {
		return nil
	}
	var namespace corev1.Namespace
	err := rt.mgr.GetClient().Get(ctx, client.ObjectKey{Name: name}, &namespace)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err != nil:
		return errNoNamespace
	case !rt.within(&namespace):
		return errForeignNamespace
	case namespace.DeletionTimestamp != nil:
		return errGoing(name)
	}
	return nil
}

// errGoing returns the API server's answer for a Namespace that is being deleted.
func errGoing(name string) error {
	err := apierrors.NewForbidden(corev1.Resource("namespaces"), name, errors.New("it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}
