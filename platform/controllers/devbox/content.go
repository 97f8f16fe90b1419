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

// SetupContent adds the content reconciler, which owns a Devbox's status.contentID, to a manager.
// This reconciler applies no object, so the status has no condition for it.
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

// contentStatus returns the change that sets status.contentID. The contentID is computed from the live Devbox,
// read for the status write. This Devbox may be newer than the cached Devbox that is being reconciled.
func contentStatus(context.Context, *v1alpha1.Devbox, reconciler.Applied) (reconciler.Report[*v1alpha1.Devbox], error) {
	return reconciler.Report[*v1alpha1.Devbox]{Change: func(box *v1alpha1.Devbox) error {
		box.Status.ContentID = contentOf(box)
		return nil
	}}, nil
}

// contentID matches the possible values of status.contentID: "c-", a hash of the Devbox's uid and
// image, "-", and a hash of the container whose changes are included (zeros if there is none).
var contentID = regexp.MustCompile(`^c-[0-9a-f]{8}-[0-9a-f]{8}$`)

const nothingCommitted = "00000000"

// contentOf returns the new status.contentID of a Devbox. A contentID identifies the file system content that the next pod starts from:
//
//   - For a new Devbox, for a new image, and after a Shutdown, it is the content of the image.
//   - Once the Devbox is Stopped, it is the content of the image with the changes that the last
//     container made. The changes count only if this container started from the current contentID,
//     and not from another image or from content that a Shutdown has discarded.
//
// While the Devbox is Running, the contentID stays the same. Otherwise each crash of the container would change
// the contentID, which replaces the pod. The end of this pod would change the contentID again, and so on forever.
//
// The result depends only on the given Devbox, whose status has the current contentID. Calling contentOf again with
// the result in the status returns the same contentID. So a second leader, a restart or a stale cache does no harm.
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
