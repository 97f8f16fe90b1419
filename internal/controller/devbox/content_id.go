package devbox

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"coapply.dev/api/v1alpha1"
)

// contentID matches what contentOf makes: which image of which Devbox, and what was
// committed on top of it.
var contentID = regexp.MustCompile(`^c-[0-9a-f]{8}-[0-9a-f]{8}$`)

const nothingCommitted = "00000000"

// contentOf names the content that a Devbox starts from:
//
//   - at first, with every new image, and once it is Shutdown: the image's own;
//   - once it is Stopped: that with what the container left behind that ran last,
//     provided that it ran on the content that the Devbox still has. One that ran on
//     another image, or whose content was dropped by a Shutdown, leaves nothing.
//
// While it is Running the content stays, whatever its containers do. A crash that
// made a new content would replace the pod, whose end would be another content, and
// so on for ever.
//
// It follows from the Devbox alone, its present content included, and is a fixed
// point of itself: two leaders, a restart and a stale cache come to the same.
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
// content, or one that somebody made up, does not.
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
