package contention

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// writes shows as many writes under a name, in one second after the other, that move no
// owner.
func (w *world) writes(n int, manager string, change Change) (looked int) {
	for i := range n {
		w.clock = w.clock.Add(time.Second)
		change.Version = fmt.Sprint(manager, "-", i)
		change.Writers = []fieldowners.Manager{{Name: manager, Operation: byApply}}
		looked += len(w.Observe(w.object, change))
	}
	return looked
}

func (w *world) answer(version, result string) {
	w.Sent("coapply-power", nil).ObserveApply(apply.ApplyObservation{Result: result, Object: apply.ObjectRef{ResourceVersion: version}})
}

// TestStrangerAlone has somebody write values under the name of one of ours: no owner
// changes, and nobody answers.
func TestStrangerAlone(t *testing.T) {
	w := newWorld(t, box)
	if looked := w.writes(3, "coapply-power", Change{Stamped: true}); looked != 1 {
		t.Fatalf("to be looked at %d times", looked)
	}
	if troubles, _, next := w.Take(box); troubles != nil || next != answerTime {
		t.Fatalf("told before an answer can have come: %v, again in %v", troubles, next)
	}
	if troubles, _, next := w.Take(w.object.ObjectRef); troubles != nil || next != 0 {
		t.Errorf("of another object: %v, again in %v", troubles, next)
	}
	for i := range 3 { // what changes nothing is answered with the version of somebody else's write
		w.answer(fmt.Sprint("coapply-power-", i), "Unchanged")
	}
	w.clock = w.clock.Add(answerTime)
	troubles, news, next := w.Take(box)
	if len(troubles) != 1 || len(news) != 1 || next != lookAgain || troubles[0].Reason != ReasonStranger {
		t.Fatalf("%v, %v, again in %v", troubles, news, next)
	}
	says := "3 writes in a minute to Deployment shop/web under the name coapply-power, of values alone, were not sent by this process: " +
		"another process runs with this field manager, or somebody uses its name"
	if text := troubles[0].String(); text != says {
		t.Error(text)
	}
	if looked := w.writes(20, "coapply-power", Change{Generation: true}); looked != 0 {
		t.Errorf("to be looked at %d times more", looked)
	}
	if again, news, _ := w.Take(box); len(again) != 1 || news != nil || again[0].String() != says {
		t.Errorf("it goes on: %v, %v", again, news)
	}
	w.clock = w.clock.Add(time.Minute)
	if troubles, _, _ := w.Take(box); troubles != nil || len(w.rows) != 0 {
		t.Errorf("over: %v", troubles)
	}
	want := `
		# HELP coapply_fights_total Fights of two field managers for a field (OwnershipFight), pairs of ours that answer each other without end (ReconcileLoop), and managers of ours under whose name somebody else writes (UnknownWriter; other is empty), when they began.
		# TYPE coapply_fights_total counter
		coapply_fights_total{kind="Deployment.apps",manager="coapply-power",other="",reason="UnknownWriter"} 1
	`
	if err := testutil.CollectAndCompare(w.State, strings.NewReader(want), "coapply_fights_total"); err != nil {
		t.Error(err)
	}
}

// TestNoStranger has writes that are no stranger's, or may be none.
func TestNoStranger(t *testing.T) {
	for _, test := range []struct {
		reason  string
		manager string
		change  Change
		lead    bool
		late    bool // the answers come once all is seen
		n       int
	}{
		{"the answers come later than the watch", "coapply-power", Change{Stamped: true}, true, true, 30},
		{"two answers were lost", "coapply-power", Change{Stamped: true}, true, false, 2},
		{"managed fields alone are rewritten", "coapply-power", Change{}, true, false, 30},
		{"the other replica has the lead", "coapply-power", Change{Stamped: true}, false, false, 30},
		{"another process runs that reconciler", "coapply-elsewhere", Change{Stamped: true}, true, false, 30},
		{"nobody of ours", "kubectl", Change{Stamped: true}, true, false, 30},
	} {
		w := newWorld(t, box)
		w.strangers.leads = test.lead
		w.writes(test.n, test.manager, test.change)
		if test.late {
			w.Take(box)
			for i := range test.n {
				w.answer(fmt.Sprint(test.manager, "-", i), []string{"Created", "Configured"}[i%2])
			}
		}
		w.clock = w.clock.Add(answerTime)
		if troubles, _, next := w.Take(box); troubles != nil || next != 0 {
			t.Errorf("%s: %v, again in %v", test.reason, troubles, next)
		}
	}
}

// TestStrangerFights has somebody take a field under the name of one of ours: both are
// told, and the fight says that it is not ours to stop.
func TestStrangerFights(t *testing.T) {
	w := newWorld(t, box)
	other := func(i int) string { return []string{power, "coapply-other/Apply"}[i%2] }
	var news []News
	for i := range 12 {
		w.clock = w.clock.Add(time.Second)
		before := w.managed()
		w.owners["replicas"] = other(i)
		change, err := Between(before, w.managed())
		if err != nil {
			t.Fatal(err)
		}
		change.Version, change.Generation = fmt.Sprint(i), true
		if i%2 == 0 {
			w.answer(change.Version, "Configured")
		}
		if w.Observe(w.object, change) != nil {
			_, told, _ := w.Take(box)
			news = append(news, told...)
		}
	}
	w.clock = w.clock.Add(answerTime)
	_, told, _ := w.Take(box)
	news = append(news, told...)
	var reasons []string
	for _, n := range news {
		reasons = append(reasons, n.Reason)
		if len(n.Unsent) != 1 || n.Unsent[0].Manager != "coapply-other" || fmt.Sprint(n.Unsent[0].Fields) != "[.spec.replicas]" {
			t.Errorf("%s: unsent are %v", n.Reason, n.Unsent)
		}
	}
	if fmt.Sprint(reasons) != "[OwnershipFight UnknownWriter]" {
		t.Errorf("told: %v", reasons)
	}
}

// TestWhoYields has a fight of a manager whose policy does not force the field.
func TestWhoYields(t *testing.T) {
	for _, test := range []struct {
		reason string
		policy apply.Policy
		other  string
		want   string
	}{
		{"it forces", apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Force), bot, "; coapply-wary does not force it until the other stops"},
		{"it forces another field", apply.OnConflict(apply.Reject).At(".spec.paused", apply.Force), bot, ""},
		{"it rejects", apply.OnConflict(apply.Reject), bot, ""},
		{"both force", apply.OnConflict(apply.Force), power, "; neither forces it until the other stops"},
	} {
		w := newWorld(t, box)
		w.Guard("coapply-wary", test.policy)
		w.fights("coapply-wary/Apply", test.other)
		troubles, news, _ := w.Take(box)
		other := map[string]string{bot: "bot/Update[scale]"}[test.other]
		want := ".spec.replicas of Deployment shop/web: " + cmp.Or(other, power) + " and coapply-wary/Apply take it from each other" + test.want
		if len(troubles) != 1 || troubles[0].String() != want || (news[0].Next > 0) != (test.want != "") {
			t.Errorf("%s: %v, %+v", test.reason, troubles, news)
		}
	}
}

// TestSeen tells a write from one that rewrote managed fields, and finds the second write
// of a second.
func TestSeen(t *testing.T) {
	at := func(generation int64, all ...metav1.ManagedFieldsEntry) metav1.Object {
		return &metav1.ObjectMeta{ResourceVersion: "7", Generation: generation, ManagedFields: all}
	}
	ours := func(second int64, fields string) metav1.ManagedFieldsEntry {
		return entry("coapply-power", byApply, "", second, fields)
	}
	kubectl := entry("kubectl", byUpdate, "", 5, replicas)
	for _, test := range []struct {
		reason        string
		before, after metav1.Object
		want          bool // ours applied, for certain
		empty         bool // there is nothing to learn
	}{
		{"an apply", at(1, ours(1, replicas)), at(2, ours(2, replicas)), true, false},
		{"an apply to a kind without generations", at(0, ours(1, replicas)), at(0, ours(2, replicas)), true, false},
		{"kubectl fieldowners migrate", at(1, ours(1, paused), kubectl), at(1, ours(5, both)), false, false},
		{"that, to one who owned nothing", at(1, kubectl), at(1, ours(5, replicas)), false, false},
		{"the second write of a second", at(1, ours(1, replicas)), at(2, ours(1, replicas)), true, false},
		{"that, of one of two", at(1, kubectl, ours(5, paused)), at(2, kubectl, ours(5, paused)), false, true},
		{"that, after a write of another", at(1, ours(6, paused), kubectl), at(2, ours(6, paused), kubectl), true, false},
		{"that, beside a status", at(1, ours(2, replicas), entry("kubelet", byUpdate, "status", 2, ready)),
			at(2, ours(2, replicas), entry("kubelet", byUpdate, "status", 2, ready)), true, false},
		{"that, at a time that is not recorded", at(1, ours(0, replicas)), at(2, ours(0, replicas)), false, true},
		{"a field goes, and nobody knows by whom", at(1, ours(1, both)), at(2, ours(1, paused)), false, false},
		{"a status that is not seen", at(1, ours(1, replicas)), at(1, ours(1, replicas)), false, true},
	} {
		change, err := Seen(test.before, test.after)
		if err != nil {
			t.Fatal(err)
		}
		if manager, ok := change.applier(); ok != test.want || ok && manager != "coapply-power" {
			t.Errorf("%s: %v by %q: %+v", test.reason, ok, manager, change)
		}
		if change.Version != "7" || change.IsEmpty() != test.empty {
			t.Errorf("%s: version %q, empty %v", test.reason, change.Version, change.IsEmpty())
		}
	}
	broken := at(1, entry("coapply-power", byApply, "", 2, broken))
	if _, err := Seen(at(1, ours(1, replicas)), broken); err == nil {
		t.Error("broken managed fields were read")
	}
}

func TestForgetStranger(t *testing.T) {
	w := newWorld(t, box)
	w.writes(3, "coapply-power", Change{Stamped: true})
	w.Forget(w.object)
	w.clock = w.clock.Add(answerTime)
	if troubles, _, next := w.Take(box); troubles != nil || next != 0 {
		t.Errorf("of the one that is gone: %v, again in %v", troubles, next)
	}
}
