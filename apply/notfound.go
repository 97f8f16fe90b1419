package apply

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
)

// CheckNotFound returns the error of a write, checked by a live read if it is a NotFound. The 404
// of a write does not say that the object is gone: the API server also answers 404 if the kind
// has no such subresource, and if an admission webhook passes on a NotFound of its own. Other
// errors are returned as they are, without a read.
//
//   - If the object does not exist, the error is returned as it is.
//   - If another object has the name, and the reference has a uid, it is a *UIDMismatchError.
//   - If the object exists, it is a *RefusedError that is no NotFound. So it is if the read does
//     not tell, because the API server does not serve the kind in this version any more.
//   - If the read fails otherwise, it is the error of the read, in its class (see Classify).
//
// The reader reads past the cache. The subresource is the one that was written to; "" is the
// object itself.
func CheckNotFound(ctx context.Context, live client.Reader, object ObjectRef, subresource string, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	found := wire.Named(object.GroupVersionKind, object.NamespacedName)
	readErr := live.Get(ctx, object.NamespacedName, found)
	switch {
	case wire.IsAbsent(readErr, object.Name):
		return err
	case apierrors.IsNotFound(readErr): // of something else than the object
		return &RefusedError{Object: object, Err: errors.New("the API server answered 404 to a write, and to the read of the object: " +
			"it may not serve the kind in this version any more, or the namespace is gone: " + wire.OneLine(readErr))}
	case readErr != nil:
		return Classify(ctx, object, fmt.Errorf("the API server answered 404 to a write; reading whether the object exists: %w", readErr))
	case object.UID != "" && object.UID != found.GetUID():
		return &UIDMismatchError{Object: object, Err: fmt.Errorf("the live object has uid %s", found.GetUID())}
	}
	return &RefusedError{Object: object, Err: notAbsent(subresource, withoutValues(object, err))}
}

// notAbsent does not wrap the answer: whoever asks for a NotFound would take the object for gone.
func notAbsent(subresource string, answer error) error {
	cause := "an admission webhook may have answered NotFound"
	if subresource != "" {
		cause = fmt.Sprintf("its kind may have no subresource %q, which a CustomResourceDefinition declares in spec.versions[].subresources.%[1]s, or %s",
			subresource, cause)
	}
	return errors.New("the API server answered 404, and the object exists: " + cause + ": " + wire.OneLine(answer))
}

// checkNotFound is CheckNotFound for a request of this call to the object or a subresource of it.
func (c *call) checkNotFound(ctx context.Context, subresource string, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	c.exchange.Calling()
	defer c.exchange.Called(nil)
	return CheckNotFound(ctx, c.config.LiveReader, c.pinnedRef(), subresource, err)
}
