package watch

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply/contention"
	"coapply.dev/fieldowners"
)

func TestNotes(t *testing.T) {
	fight := contention.Trouble{
		Reason: contention.ReasonFight, Object: watcher{deployments, newWatch(t)}.ref(owned("x", "m", "")),
		Path: fieldowners.MustParsePath(".spec.replicas"),
		A:    fieldowners.Manager{Name: "coapply-x", Operation: metav1.ManagedFieldsOperationApply},
		B:    fieldowners.Manager{Name: "hpa", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale"},
	}
	yields := fight
	yields.Yields = []string{"coapply-x"}
	loop := contention.Trouble{Reason: contention.ReasonLoop, Object: fight.Object, Other: fight.Object, A: fight.A, B: fight.B}
	const todo = "; stop one of the two. coapply-x: take the field out of what it applies; " +
		"once it has stopped, kubectl fieldowners release gives up what it applied. " +
		"hpa: change or delete the autoscaler; kubectl fieldowners release does nothing for an Update owner"
	stranger := contention.Trouble{Reason: contention.ReasonStranger, Object: fight.Object, A: fight.A,
		Unsent: []contention.Unsent{{Manager: "coapply-x", Object: fight.Object, Writes: 7}}}
	posed := yields
	posed.Unsent = []contention.Unsent{{Manager: "coapply-x", Object: fight.Object, Writes: 3, Fields: []fieldowners.Path{fight.Path}}}
	state, err := contention.New(contention.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		news         contention.News
		action, note string
	}{
		{contention.News{Trouble: fight}, "Watch .spec.replicas",
			".spec.replicas of Deployment shop/web: coapply-x/Apply and hpa/Update[scale] took it from each other more than 5 times in a minute" + todo},
		{contention.News{Trouble: yields, Next: time.Minute}, "StopForcing .spec.replicas",
			".spec.replicas of Deployment shop/web: coapply-x/Apply and hpa/Update[scale] took it from each other more than 5 times in a minute: coapply-x will not force it for 1m0s" + todo},
		{contention.News{Trouble: yields, Again: true, Next: 2 * time.Minute}, "ForceOnce .spec.replicas",
			".spec.replicas of Deployment shop/web, of coapply-x/Apply and hpa/Update[scale], was taken back after one more try: coapply-x will not force it for 2m0s" + todo},
		{contention.News{Trouble: loop}, "Watch coapply-x",
			"coapply-x, in Deployment shop/web, and hpa, in Deployment shop/web, answer each other without end: one of them has to stop writing what the other reads"},
		{contention.News{Trouble: stranger}, "Watch coapply-x",
			"7 writes in a minute to Deployment shop/web under the name coapply-x, of values alone, were not sent by this process: " +
				"another process runs with this field manager, or somebody uses its name" + whoWrote},
		{contention.News{Trouble: posed, Next: time.Minute}, "StopForcing .spec.replicas",
			".spec.replicas of Deployment shop/web: coapply-x/Apply and hpa/Update[scale] took it from each other more than 5 times in a minute: coapply-x will not force it for 1m0s; " +
				"3 writes in a minute to Deployment shop/web under the name coapply-x, of .spec.replicas, were not sent by this process: " +
				"another process runs with this field manager, or somebody uses its name" + whoWrote},
	} {
		if got := action(test.news); got != test.action {
			t.Errorf("action %q, want %q", got, test.action)
		}
		if got := note(test.news, 5, state.HowToStop); got != test.note {
			t.Errorf("got  %s\nwant %s", got, test.note)
		}
	}
}

func TestCut(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("ä", 64), strings.Repeat("ä", 200), "x" + strings.Repeat("ä", 200)} {
		got := cut(text, 128)
		if len(got) > 128 || !utf8.ValidString(got) || len(text) <= 128 && got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
