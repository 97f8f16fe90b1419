package applytest

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// CollectGarbage does the work of kube-controller-manager for deleted objects and namespaces, until nothing is left to
// do. It deletes objects whose owners no longer exist, completes foreground and orphan deletion, and deletes the
// objects in terminating namespaces. If it is not called, the server behaves like a kube-apiserver without controllers.
func (s *Server) CollectGarbage(ctx context.Context) error {
	for {
		done, err := s.collect(ctx)
		if done || err != nil {
			return err
		}
	}
}

// collect is one round of CollectGarbage. done reports whether there was nothing to do.
func (s *Server) collect(ctx context.Context) (done bool, err error) {
	objects, err := s.everything(ctx)
	if err != nil {
		return false, err
	}
	alive := map[types.UID]*unstructured.Unstructured{}
	dependents := map[types.UID][]*unstructured.Unstructured{}
	terminating := map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		alive[object.GetUID()] = object
		for _, owner := range object.GetOwnerReferences() {
			dependents[owner.UID] = append(dependents[owner.UID], object)
		}
		if object.GetKind() == "Namespace" && object.GetDeletionTimestamp() != nil {
			terminating[object.GetName()] = object
		}
	}
	done = true
	act := func(err error) error {
		done = false
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // the next round looks at the object again
		}
		return err
	}
	for _, object := range objects {
		namespace := terminating[object.GetNamespace()]
		delete(terminating, object.GetNamespace()) // the namespace is not empty yet
		deleting := object.GetDeletionTimestamp() != nil
		switch {
		case namespace != nil && !deleting, !deleting && s.isOrphan(object, alive):
			err = act(s.Delete(ctx, object, client.Preconditions{UID: new(object.GetUID())}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
		case deleting && slices.Contains(object.GetFinalizers(), metav1.FinalizerOrphanDependents):
			for _, dependent := range dependents[object.GetUID()] {
				owners := slices.DeleteFunc(dependent.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == object.GetUID() })
				dependent.SetOwnerReferences(owners)
				if err := act(s.Update(ctx, dependent)); err != nil {
					return false, err
				}
			}
			controllerutil.RemoveFinalizer(object, metav1.FinalizerOrphanDependents)
			err = act(s.Update(ctx, object))
		case deleting && slices.Contains(object.GetFinalizers(), metav1.FinalizerDeleteDependents):
			blocking := slices.ContainsFunc(dependents[object.GetUID()], func(d *unstructured.Unstructured) bool { return d.GetDeletionTimestamp() == nil })
			for _, dependent := range dependents[object.GetUID()] {
				if dependent.GetDeletionTimestamp() != nil {
					continue
				}
				foreground := client.PropagationPolicy(metav1.DeletePropagationForeground)
				if err := act(s.Delete(ctx, dependent, client.Preconditions{UID: new(dependent.GetUID())}, foreground)); err != nil {
					return false, err
				}
			}
			if !blocking && len(dependents[object.GetUID()]) == 0 {
				controllerutil.RemoveFinalizer(object, metav1.FinalizerDeleteDependents)
				err = act(s.Update(ctx, object))
			}
		}
		if err != nil {
			return false, err
		}
	}
	for _, namespace := range terminating {
		if finalizers, _, _ := unstructured.NestedSlice(namespace.Object, "spec", "finalizers"); len(finalizers) == 0 {
			continue
		}
		unstructured.RemoveNestedField(namespace.Object, "spec", "finalizers")
		if err := act(s.SubResource("finalize").Update(ctx, namespace)); err != nil {
			return false, err
		}
	}
	return done, nil
}

// isOrphan reports whether an object has owner references, but none of the owners exists.
func (s *Server) isOrphan(object *unstructured.Unstructured, alive map[types.UID]*unstructured.Unstructured) bool {
	owners := object.GetOwnerReferences()
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool {
		owner := alive[o.UID]
		return owner != nil && owner.GetKind() == o.Kind && owner.GetName() == o.Name &&
			(owner.GetNamespace() == "" || owner.GetNamespace() == object.GetNamespace())
	})
}

// everything returns the objects of all kinds that the server serves.
func (s *Server) everything(ctx context.Context) (objects []*unstructured.Unstructured, err error) {
	for _, kind := range s.kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := s.List(ctx, list); err != nil {
			return nil, err
		}
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	}
	return objects, nil
}

// kinds returns the kinds that the server serves, each in one version.
func (s *Server) kinds() (kinds []schema.GroupVersionKind) {
	for _, group := range builtinGroups {
		for _, k := range group.kinds {
			kinds = append(kinds, group.version.WithKind(kindOf(k.object)))
		}
	}
	return append(kinds, s.crds.kinds()...)
}
