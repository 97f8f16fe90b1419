package arms

import (
	"context"

	"coapply.dev/compare"
)

// getModifyUpdate makes one attempt: it reads the object, modifies it and updates it.
func getModifyUpdate(ctx context.Context, s compare.Session, intent compare.Intent) (compare.Receipt, error) {
	c := s.Client(intent.Manager)
	object, err := read(ctx, c, intent)
	if err != nil {
		return compare.Receipt{}, err
	}
	if err := intent.Modify(object); err != nil {
		return compare.Receipt{}, err
	}
	return put(ctx, c, intent, object)
}
