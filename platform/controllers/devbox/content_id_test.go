package devbox

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"coapply.dev/platform/api/v1alpha1"
)

// The contents of the sample Devbox, spelt out: they are in clusters, and another
// hash would replace every pod.
const (
	first     = "c-fdb5c525-00000000"
	firstOfV2 = "c-12c39b48-00000000"
	committed = "c-fdb5c525-ed882a15"
)

// had gives a Devbox a content, and a container that ran on one and ended.
func had(content, lastContent, containerID string) func(*v1alpha1.Devbox) {
	return func(b *v1alpha1.Devbox) {
		b.Status.ContentID, b.Status.LastContentID = content, lastContent
		if containerID != "" {
			b.Status.LastContainerStatus = &corev1.ContainerStatus{ContainerID: containerID}
		}
	}
}

func is(state v1alpha1.DevboxState, phase v1alpha1.DevboxPhase) func(*v1alpha1.Devbox) {
	return func(b *v1alpha1.Devbox) { b.Spec.State, b.Status.Phase = state, phase }
}

func TestContentOf(t *testing.T) {
	const running, stopped, shutdown = v1alpha1.DevboxRunning, v1alpha1.DevboxStopped, v1alpha1.DevboxShutdown
	v2 := func(b *v1alpha1.Devbox) { b.Spec.Image = "registry.example.com/dev:2" }
	another := func(b *v1alpha1.Devbox) { b.UID = "0000-2" }
	for _, test := range []struct {
		reason string
		box    []func(*v1alpha1.Devbox)
		want   string
	}{
		{"a new one", []func(*v1alpha1.Devbox){had("", "", "")}, first},
		{"it keeps what it has", []func(*v1alpha1.Devbox){is(running, v1alpha1.PhaseRunning), had(first, "", "")}, first},
		{"another Devbox, of the same image", []func(*v1alpha1.Devbox){another, had(first, "", "")}, "c-" + digest("0000-2", sample().Spec.Image) + "-00000000"},

		{"a container ended while it is Running", []func(*v1alpha1.Devbox){is(running, v1alpha1.PhasePending), had(first, first, "sim://1")}, first},
		{"the same, of what was committed before", []func(*v1alpha1.Devbox){is(running, v1alpha1.PhasePending), had(committed, committed, "sim://2")}, committed},
		{"it is Stopped", []func(*v1alpha1.Devbox){is(stopped, v1alpha1.PhaseStopped), had(first, first, "sim://1")}, committed},
		{"committed before: the container ran on what is no more", []func(*v1alpha1.Devbox){is(stopped, v1alpha1.PhaseStopped), had(committed, first, "sim://1")}, committed},
		{"it ends still", []func(*v1alpha1.Devbox){is(stopped, v1alpha1.PhaseStopping), had(first, first, "sim://1")}, first},
		{"it never ran", []func(*v1alpha1.Devbox){is(stopped, v1alpha1.PhaseStopped), had(first, "", "")}, first},
		{"its container never began", []func(*v1alpha1.Devbox){is(stopped, v1alpha1.PhaseStopped), had(first, first, ""),
			func(b *v1alpha1.Devbox) { b.Status.LastContainerStatus = &corev1.ContainerStatus{} }}, first},
		{"nothing tells what the container ran on", []func(*v1alpha1.Devbox){is(stopped, v1alpha1.PhaseStopped), had(first, "", "sim://1")}, first},

		{"a new image", []func(*v1alpha1.Devbox){v2, is(running, v1alpha1.PhaseRunning), had(committed, "", "")}, firstOfV2},
		{"a new image while it is Stopped", []func(*v1alpha1.Devbox){v2, is(stopped, v1alpha1.PhaseStopped), had(committed, first, "sim://1")}, firstOfV2},
		{"what ran on the old image is not committed to the new one", []func(*v1alpha1.Devbox){v2, is(stopped, v1alpha1.PhaseStopped), had(firstOfV2, first, "sim://1")}, firstOfV2},

		{"a Shutdown under way", []func(*v1alpha1.Devbox){is(shutdown, v1alpha1.PhaseStopping), had(committed, first, "sim://1")}, committed},
		{"a Shutdown drops what was committed", []func(*v1alpha1.Devbox){is(shutdown, v1alpha1.PhaseShutdown), had(committed, "", "sim://1")}, first},
		{"and what ran last is not committed afterwards", []func(*v1alpha1.Devbox){is(stopped, v1alpha1.PhaseStopped), had(first, "", "sim://1")}, first},

		{"somebody made one up", []func(*v1alpha1.Devbox){is(running, v1alpha1.PhaseRunning), had("../../etc", "", "")}, first},
		{"and a longer one", []func(*v1alpha1.Devbox){is(running, v1alpha1.PhaseRunning), had(first+"0", "", "")}, first},
		{"a phase that there is not", []func(*v1alpha1.Devbox){is(stopped, "Hovering"), had(first, first, "sim://1")}, first},
	} {
		box := sample()
		for _, change := range test.box {
			change(box)
		}
		got := contentOf(box)
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.reason, got, test.want)
		}
		box.Status.ContentID = got
		if again := contentOf(box); again != got {
			t.Errorf("%s: %s, and then %s: it would never rest", test.reason, got, again)
		}
		if !contentFits(box) || strings.ContainsAny(got, "/ ") {
			t.Errorf("%s: %s does not fit its own image", test.reason, got)
		}
	}
}
