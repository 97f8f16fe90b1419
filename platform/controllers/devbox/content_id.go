package devbox

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"coapply.dev/platform/api/v1alpha1"
)

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
