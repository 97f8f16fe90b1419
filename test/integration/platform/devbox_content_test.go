package platform

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/devbox"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/test/kit"
)

// templatesOf counts the pod templates that the Devbox's Deployment has had.
func templatesOf(t *testing.T, p *kit.Platform, name string) int {
	t.Helper()
	var sets appsv1.ReplicaSetList
	if err := p.Client.List(t.Context(), &sets, client.InNamespace(p.Namespace), client.MatchingLabels{devbox.Label: name}); err != nil {
		t.Fatal(err)
	}
	return len(sets.Items)
}

func waitForContent(t *testing.T, p *kit.Platform, name, what string, is func(contentID string) bool) string {
	t.Helper()
	var box v1alpha1.Devbox
	kit.WaitFor(t, what, func() string {
		if p.Get(t, name, &box); !is(box.Status.ContentID) {
			return "contentID is " + box.Status.ContentID
		}
		return ""
	})
	return box.Status.ContentID
}

// TestDevboxContent follows one Devbox's content through its life, with two managers
// at once, as when a leader has lost its lease and does not know it yet.
func TestDevboxContent(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	p.Run(t, kit.Cluster(t).Config(), apply.Force)
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	first := waitForContent(t, p, "box", "a content", func(id string) bool { return strings.HasSuffix(id, "-00000000") })
	wantAt := func(when string, contentID string, templates int) {
		t.Helper()
		p.Quiet(t, 500*time.Millisecond)
		box := p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
		if n := templatesOf(t, p, "box"); box.Status.ContentID != contentID || n != templates {
			t.Errorf("%s: contentID is %s, want %s; there were %d pod templates, want %d", when, box.Status.ContentID, contentID, n, templates)
		}
	}
	wantAt("at first", first, 1)

	pod := pods(t, p, "box")[0]
	patchStatus(t, p, &corev1.Pod{}, pod.Name, `{"status":{"phase":"Failed"}}`)
	kit.WaitFor(t, "another pod runs", func() string {
		for _, other := range pods(t, p, "box") {
			if other.UID != pod.UID && other.Status.Phase == corev1.PodRunning {
				return ""
			}
		}
		return "none"
	})
	wantAt("after a crash", first, 1)
	if !kit.ServerAtLeast(t, "1.37.0") { // beside a pod that has failed, a new template would wait ten minutes (kubernetes#128798)
		deleteObject(t, p, &pod)
	}

	set(t, p, "box", v1alpha1.DevboxStopped)
	committed := waitForContent(t, p, "box", "a commit", func(id string) bool { return id != first })
	if len(committed) != len(first) || committed[:len(first)-8] != first[:len(first)-8] {
		t.Errorf("%s was committed onto %s", committed, first)
	}
	wantAt("Stopped", committed, 2)
	set(t, p, "box", v1alpha1.DevboxRunning)
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	kit.WaitFor(t, "a pod of what was committed", func() string {
		if got := runningPod(t, p, "box").Annotations[devbox.ContentAnnotation]; got != committed {
			return "its content is " + got
		}
		return ""
	})

	p.Patch(t, &v1alpha1.Devbox{}, "box", `{"spec":{"image":"registry.example.com/dev:2"}}`)
	second := waitForContent(t, p, "box", "the new image's content", func(id string) bool { return id != committed })
	kit.WaitFor(t, "a pod of it", func() string {
		if image := runningPod(t, p, "box").Spec.Containers[0].Image; image != "registry.example.com/dev:2" {
			return image
		}
		return ""
	})
	wantAt("image and content came together", second, 3)

	set(t, p, "box", v1alpha1.DevboxShutdown)
	waitForPhase(t, p, "box", v1alpha1.PhaseShutdown)
	wantAt("Shutdown", second, 3)
	set(t, p, "box", v1alpha1.DevboxStopped)
	waitForPhase(t, p, "box", v1alpha1.PhaseStopped)
	wantAt("what a Shutdown dropped is not committed", second, 3)
}

// runningPod returns the Devbox's pod that runs, or one whose image is "none".
func runningPod(t *testing.T, p *kit.Platform, name string) corev1.Pod {
	t.Helper()
	for _, pod := range pods(t, p, name) {
		if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			return pod
		}
	}
	return corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "none"}}}}
}

// TestNewContentReplacesThePod: somebody who keeps contents elsewhere names one of
// the image. One that nobody could have made is put right.
func TestNewContentReplacesThePod(t *testing.T) {
	t.Parallel()
	p, pod := running(t)
	set := func(contentID string) {
		patchStatus(t, p, &v1alpha1.Devbox{}, "box", fmt.Sprintf(`{"status":{"contentID":%q}}`, contentID))
	}
	first := pod.Annotations[devbox.ContentAnnotation]
	other := first[:len(first)-8] + "0000beef"
	set(other)
	waitForAnotherPod(t, p, "box", pod)
	waitForLast(t, p)
	box := p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
	if box.Status.ContentID != other || box.Status.LastContentID != other {
		t.Errorf("contentID is %s and lastContentID %s, want %s", box.Status.ContentID, box.Status.LastContentID, other)
	}
	if got := pods(t, p, "box")[0].Annotations[devbox.ContentAnnotation]; got != other {
		t.Errorf("the pod's content is %s, want %s", got, other)
	}

	before := templatesOf(t, p, "box")
	set("../../etc/passwd")
	waitForContent(t, p, "box", "the image's own content again", func(id string) bool { return id == first })
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	p.Quiet(t, time.Second)
	if after := templatesOf(t, p, "box"); after != before {
		t.Errorf("%d pod templates, then %d: a content that cannot be reached the pods", before, after)
	}
}

// TestNoPodBeforeItsContent: the content reconciler is late, with a new Devbox and
// with a new image. Neither gets a pod that would be replaced at once.
func TestNoPodBeforeItsContent(t *testing.T) {
	t.Parallel()
	config := kit.Cluster(t).Config()
	p := kit.NewPlatform(t)
	var late atomic.Bool
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if late.Load() && request.URL.Query().Get("fieldManager") == fieldmanagers.DevboxContent {
				return nil, errors.New("connection refused")
			}
			return next.RoundTrip(request)
		})
	})
	late.Store(true)
	p.Run(t, config, apply.Force)
	p.Create(t, "box")
	waitForContentToCome := func(templates int) {
		t.Helper()
		kit.WaitFor(t, "waiting for the content", func() string {
			box := p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
			condition := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionWorkloadApplied)
			if condition == nil || condition.Reason != "WaitingForContent" || condition.ObservedGeneration != box.Generation {
				return condition.String()
			}
			return ""
		})
		p.Quiet(t, 500*time.Millisecond)
		if n := templatesOf(t, p, "box"); n != templates {
			t.Errorf("%d pod templates before the content is there, want %d", n, templates)
		}
	}
	waitForContentToCome(0)
	late.Store(false)
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)

	late.Store(true)
	p.Patch(t, &v1alpha1.Devbox{}, "box", `{"spec":{"image":"registry.example.com/dev:2"}}`)
	waitForContentToCome(1)
	late.Store(false)
	kit.WaitFor(t, "a pod of the new image", func() string {
		if image := runningPod(t, p, "box").Spec.Containers[0].Image; image != "registry.example.com/dev:2" {
			return image
		}
		return ""
	})
}
