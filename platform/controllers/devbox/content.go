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

// SetupContent adds the reconciler that owns a Devbox's status.contentID. It applies nothing,
// and so has no condition.
func SetupContent(_ ctrl.Manager, options setup.Options) error {
	return coapply.For(options.Runtime, fieldmanagers.DevboxContent, emitContent).
		Named("devbox-content").
		DependsOn(contentDependsOn...).
		Status(contentStatus).
		Complete()
}

// contentDependsOn are the fields of the status that contentOf reads.
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

// emitContent returns no intents.
func emitContent(*v1alpha1.Devbox) ([]apply.Intent, error) {
	return nil, nil
}

// contentStatus sets the content by the Devbox that is written to, which after a stale write is
// another version than the one read.
func contentStatus(context.Context, *v1alpha1.Devbox, reconciler.Applied) (reconciler.Report[*v1alpha1.Devbox], error) {
	return reconciler.Report[*v1alpha1.Devbox]{Change: func(box *v1alpha1.Devbox) error {
		box.Status.ContentID = contentOf(box)
		return nil
	}}, nil
}

// contentID matches what contentOf returns: a hash of Devbox and image, and one of what was
// committed on top.
var contentID = regexp.MustCompile(`^c-[0-9a-f]{8}-[0-9a-f]{8}$`)

const nothingCommitted = "00000000"

// contentOf returns the name of the content from which a Devbox starts:
//
//   - at first, with every new image, and once it is Shutdown: the image's own;
//   - once it is Stopped: its content, with what the last container left behind, provided that
//     this ran on the content that the Devbox still has, and not on another image or on content
//     that a Shutdown dropped.
//
// While the Devbox is Running the content stays, whatever its containers do. If a crash made a
// new content, that would replace the pod, whose end would make another content, and so on for
// ever.
//
// It depends on the Devbox alone, including its present content, and is idempotent, so that two
// leaders, a restart and a stale cache have the same result.
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

// contentFits reports whether the content that a Devbox has belongs to its image. An empty
// content does not, nor one that somebody made up.
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
