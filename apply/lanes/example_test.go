package lanes_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply/lanes"
)

// A write takes its turn at an object. A write inside of it would wait for itself.
func Example() {
	set := lanes.New()
	web := lanes.Key{
		GroupKind:      schema.GroupKind{Group: "apps", Kind: "Deployment"},
		NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"},
	}
	write := func(ctx context.Context, what func(inside context.Context) error) error {
		inside, leave, err := set.Enter(ctx, web)
		defer leave()
		if err != nil {
			return err
		}
		return what(inside)
	}

	err := write(context.Background(), func(inside context.Context) error {
		fmt.Println(set.Busy(), "object is written to")
		return write(inside, func(context.Context) error { return nil })
	})
	fmt.Println(err)
	fmt.Println(set.Busy(), "objects")
	// Output:
	// 1 object is written to
	// nested write to the same object: the outer write to Deployment shop/web has not ended, and the inner write would wait for the outer write forever; call leave or let the outer write return before the inner write
	// 0 objects
}
