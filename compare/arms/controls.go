package arms

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// putNoRV writes the whole object without a resourceVersion. So the API server does not check whether the object has
// changed since the read.
func putNoRV(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		c := s.Client(intent.Manager)
		object, err := read(ctx, c, intent)
		if err != nil {
			return compare.Receipt{}, err
		}
		if err := intent.Modify(object); err != nil {
			return compare.Receipt{}, err
		}
		object.SetResourceVersion("")
		return put(ctx, c, intent, object)
	}
}

// sharedManager applies the intents of all writers under one field manager. Each apply therefore removes the fields that
// only other writers list. The apply is forced, because other field managers own the fields at the start of the trial.
func sharedManager(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		c := s.Client(intent.Manager)
		config, err := configure(ctx, c, intent)
		if err != nil {
			return compare.Receipt{}, err
		}
		return serverSideApply(ctx, c, intent, config, client.ApplyOptions{FieldManager: "shared", Force: new(true)})
	}
}
