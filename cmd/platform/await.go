package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
)

// await reads an object until missing returns "" for it. Each read is into a new object, as
// absent fields would otherwise keep their values.
func await[T any, P interface {
	*T
	client.Object
}](ctx context.Context, d *demonstration, key client.ObjectKey, what string, missing func(P) string) (object P) {
	until(ctx, fmt.Sprintf("%T %s: %s", object, key, what), func(ctx context.Context) (string, error) {
		object = new(T)
		if err := d.platform.client.Get(ctx, key, object); err != nil {
			return err.Error(), client.IgnoreNotFound(err)
		}
		return missing(object), nil
	})
	return object
}

// unlessCondition returns how a condition differs from what is wanted, or "". An empty reason
// matches any.
func unlessCondition(conditions []metav1.Condition, conditionType, status, reason string) string {
	c := meta.FindStatusCondition(conditions, conditionType)
	switch {
	case c == nil:
		return "no condition " + conditionType
	case string(c.Status) != status || reason != "" && c.Reason != reason:
		return fmt.Sprintf("%s is %s (%s: %s)", c.Type, c.Status, c.Reason, c.Message)
	}
	return ""
}

// condition returns a condition as a text.
func condition(box *v1alpha1.Devbox, conditionType string) string {
	c := meta.FindStatusCondition(box.Status.Conditions, conditionType)
	if c == nil {
		return "no condition " + conditionType
	}
	return fmt.Sprintf("%s: %s, %s\n%s", c.Type, c.Status, c.Reason, c.Message)
}
