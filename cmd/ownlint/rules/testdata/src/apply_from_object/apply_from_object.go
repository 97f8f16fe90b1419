package applyfromobject

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/operator/src/api/v1"
)

type reconciler struct{ client.Client }

func (r *reconciler) read(ctx context.Context, key client.ObjectKey) error {
	config := &corev1.ConfigMap{}
	if err := r.Get(ctx, key, config); err != nil {
		return err
	}
	config.Data["a"] = "b"
	return r.Patch(ctx, config, client.Apply, client.FieldOwner("x"), client.ForceOwnership) // want `an object that was read from the API server`
}

func (r *reconciler) readUnstructured(ctx context.Context, key client.ObjectKey) error {
	object := &unstructured.Unstructured{}
	if err := r.Get(ctx, key, object); err != nil {
		return err
	}
	return r.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("x")) // want `an object that was read from the API server`
}

func (r *reconciler) typed(ctx context.Context) error {
	site := &v1.Site{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: v1.SiteSpec{Host: "example.com"}}
	return r.Patch(ctx, site, client.Apply, client.FieldOwner("x")) // want `sends the Go type Site, .* \.spec\.path .*, \.spec\.backup\.schedule`
}

func (r *reconciler) noManager(ctx context.Context, object client.Object) error {
	return r.Patch(ctx, object, client.Apply, client.FieldOwner("")) // want `field manager is empty`
}

func clientsetNoManager(ctx context.Context, c kubernetes.Interface) error {
	config := corev1ac.ConfigMap("x", "y")
	_, err := c.CoreV1().ConfigMaps("y").Apply(ctx, config, metav1.ApplyOptions{Force: true}) // want `names no field manager`
	return err
}

// Cases that are not reported.

func clientset(ctx context.Context, c kubernetes.Interface, options metav1.ApplyOptions) error {
	config := corev1ac.ConfigMap("x", "y")
	if _, err := c.CoreV1().ConfigMaps("y").Apply(ctx, config, options); err != nil {
		return err
	}
	_, err := c.CoreV1().ConfigMaps("y").Apply(ctx, config, metav1.ApplyOptions{FieldManager: "x"})
	return err
}

func (r *reconciler) constructed(ctx context.Context) error {
	object := &unstructured.Unstructured{}
	object.SetName("x")
	if err := r.Patch(ctx, object, client.Apply, client.FieldOwner("x")); err != nil {
		return err
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	return r.Patch(ctx, config, client.Apply, client.FieldOwner("x"))
}

func (r *reconciler) readAnother(ctx context.Context, key client.ObjectKey) error {
	live := &corev1.ConfigMap{}
	if err := r.Get(ctx, key, live); err != nil {
		return err
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: live.Name}}
	return r.Patch(ctx, config, client.Apply, client.FieldOwner("x"))
}
