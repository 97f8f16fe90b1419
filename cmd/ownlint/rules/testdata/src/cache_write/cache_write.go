package cachewrite

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func lister(nodes corelisters.NodeLister) error {
	node, err := nodes.Get("a")
	if err != nil {
		return err
	}
	node.Labels["a"] = "b" // want `Get returned belongs to the cache`
	list, err := nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	for _, n := range list {
		n.Spec.Unschedulable = true // want `List returned belongs to the cache`
	}
	return nil
}

func store(s cache.Store) error {
	object, exists, err := s.GetByKey("a")
	if err != nil || !exists {
		return err
	}
	pod := object.(*corev1.Pod)
	pod.SetLabels(nil) // want `GetByKey returned belongs to the cache`
	return nil
}

func uncopied(ctx context.Context, c client.Client) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range pods.Items {
		pods.Items[i].Labels["a"] = "b" // want `UnsafeDisableDeepCopy returned belongs to the cache`
	}
	return nil
}

// change changes the node before it copies it.
func change(node *corev1.Node) { node.Spec.Unschedulable = true }

func changedInside(nodes corelisters.NodeLister) error {
	node, err := nodes.Get("a")
	if err != nil {
		return err
	}
	change(node) // want `Get returned belongs to the cache`
	return nil
}

// Cases that are not reported.

type statusUpdater interface {
	UpdateStatus(ctx context.Context, node *corev1.Node) error
}

// update passes the node to a method that perhaps changes it.
func update(ctx context.Context, updater statusUpdater, node *corev1.Node) error {
	return updater.UpdateStatus(ctx, node)
}

func passed(ctx context.Context, nodes corelisters.NodeLister, updater statusUpdater) error {
	node, err := nodes.Get("a")
	if err != nil {
		return err
	}
	return update(ctx, updater, node)
}

func copied(ctx context.Context, nodes corelisters.NodeLister, c client.Client) error {
	node, err := nodes.Get("a")
	if err != nil {
		return err
	}
	node = node.DeepCopy()
	node.Labels["a"] = "b"
	var pods corev1.PodList
	if err := c.List(ctx, &pods); err != nil {
		return err
	}
	for i := range pods.Items {
		pods.Items[i].Labels["a"] = "b"
	}
	return nil
}
