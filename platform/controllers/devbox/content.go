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

// SetupContent adds the content reconciler to a manager. This reconciler owns status.contentID of a Devbox. It applies
// no object and sets no condition.
func SetupContent(_ ctrl.Manager, options setup.Options) error {
	return coapply.For(options.Runtime, fieldmanagers.DevboxContent, emitContent).
		Named("devbox-content").
		DependsOn(contentDependsOn...).
		Status(contentStatus).
		Complete()
}

// contentDependsOn are the status fields that contentOf reads. A change of one of these fields starts a reconcile.
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

// emitContent returns no intents, because the content reconciler writes only the status.
func emitContent(*v1alpha1.Devbox) ([]apply.Intent, error) {
	return nil, nil
}

// contentStatus returns a Report that sets status.contentID. Report.Change computes the contentID from the live
// Devbox, which may be newer than the cached Devbox.
func contentStatus(context.Context, *v1alpha1.Devbox, reconciler.Applied) (reconciler.Report[*v1alpha1.Devbox], error) {
	return reconciler.Report[*v1alpha1.Devbox]{Change: func(box *v1alpha1.Devbox) error {
		box.Status.ContentID = contentOf(box)
		return nil
	}}, nil
}

// contentID matches a valid status.contentID, c-HASH1-HASH2. HASH1 is a hash of the Devbox's uid and image. HASH2 is a
// hash of the ID of the container that last changed the content, or all zeros for the unchanged content of the image.
var contentID = regexp.MustCompile(`^c-[0-9a-f]{8}-[0-9a-f]{8}$`)

const nothingCommitted = "00000000"

// contentOf returns the new status.contentID of a Devbox. A contentID identifies the file system content from which
// the next pod starts:
//
//   - For a new Devbox, for a new image, and after a Shutdown, it is the content of the image.
//   - Once the Devbox is Stopped, the content also includes the changes that the last container made. They are
//     included only if the last container started from the current contentID.
//
// While the Devbox is Running, the contentID does not change. Otherwise there would be an endless loop: the end of a
// container would change the contentID, the new contentID would replace the pod, and its container would end.
//
// The result depends only on the given Devbox. contentOf is idempotent: with the result as status.contentID, it
// returns the same contentID again. So a second leader, a restart or a stale cache does no harm.
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

// contentFits reports whether the Devbox's status.contentID was computed for the image in
// spec.image. It returns false for an empty or malformed contentID.
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
