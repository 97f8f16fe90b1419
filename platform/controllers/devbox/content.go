package devbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/setup"
)

// SetupContent adds the reconciler that owns a Devbox's status.contentID. It applies no object, and
// so has no condition.
func SetupContent(_ ctrl.Manager, options setup.Options) error {
	return coapply.For(options.Runtime, fieldmanagers.DevboxContent, emitContent).
		Named("devbox-content").
		DependsOn(contentDependsOn...).
		Status(contentStatus).
		Complete()
}

// contentDependsOn are the status fields that contentOf reads. A change of one of these starts a reconcile.
var contentDependsOn = []func(*v1alpha1.Devbox) any{
	func(box *v1alpha1.Devbox) any { return box.Status.ContentID },
	func(box *v1alpha1.Devbox) any { return box.Status.LastContentID },
	func(box *v1alpha1.Devbox) any { return box.Status.Phase },
	func(box *v1alpha1.Devbox) any {
		if last := box.Status.LastContainerStatus; last != nil {
			return last.ContainerID
		}
		return ""
	},
}

// emitContent returns no intents: the content reconciler writes only the status.
func emitContent(*v1alpha1.Devbox) ([]apply.Intent, error) {
	return nil, nil
}

// contentStatus returns the change of status.contentID. Change computes the contentID from the live
// Devbox that is about to be written, which may be newer than the Devbox that was reconciled.
func contentStatus(context.Context, *v1alpha1.Devbox, reconciler.Applied) (reconciler.Report[*v1alpha1.Devbox], error) {
	return reconciler.Report[*v1alpha1.Devbox]{Change: func(box *v1alpha1.Devbox) error {
		box.Status.ContentID = contentOf(box)
		return nil
	}}, nil
}

// contentID matches the values that contentOf returns: "c-", a hash of the Devbox's uid and image,
// and a hash of the committed changes.
var contentID = regexp.MustCompile(`^c-[0-9a-f]{8}-[0-9a-f]{8}$`)

const nothingCommitted = "00000000"

// contentOf returns the contentID from which a Devbox starts:
//
//   - for a new Devbox, for a new image, and after a Shutdown: the contentID of the image itself;
//   - once the Devbox is Stopped: the image with the changes that the last container made. The
//     changes count only if the container started from the current contentID, not from another
//     image or from content that a Shutdown has discarded.
//
// While the Devbox is Running, the contentID never changes. If a container crash changed it, the
// new contentID would replace the pod, the end of the pod would change it again, and so on
// forever.
//
// The result depends only on the Devbox, including its current contentID, and is idempotent. So
// two leaders, a restart and a stale cache lead to the same result.
func contentOf(box *v1alpha1.Devbox) string {
	own := imageContent(box) + nothingCommitted
	current := box.Status.ContentID
	switch last := box.Status.LastContainerStatus; {
	case !contentFits(box):
		return own
	case box.Spec.State == v1alpha1.DevboxShutdown && box.Status.Phase == v1alpha1.PhaseShutdown:
		return own
	case box.Spec.State == v1alpha1.DevboxStopped && box.Status.Phase == v1alpha1.PhaseStopped &&
		last != nil && last.ContainerID != "" && box.Status.LastContentID == current:
		return imageContent(box) + digest(last.ContainerID)
	}
	return current
}

// contentFits reports whether a Devbox's status.contentID was computed for the image in spec.image.
// An empty or malformed contentID was not.
func contentFits(box *v1alpha1.Devbox) bool {
	current := box.Status.ContentID
	return contentID.MatchString(current) && strings.HasPrefix(current, imageContent(box))
}

func imageContent(box *v1alpha1.Devbox) string {
	return "c-" + digest(string(box.UID), box.Spec.Image) + "-"
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:4])
}
