package apply_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// TestTakeBackWhich: which fields of the made-up owner's become ours, by the contract and by
// how much of our own an intent may give up.
func TestTakeBackWhich(t *testing.T) {
	const (
		replicas = `{"f:spec":{"f:replicas":{}}}`
		both     = `{"f:spec":{"f:paused":{},"f:replicas":{}}}`
		labels   = `{"f:metadata":{"f:labels":{".":{},"f:born":{},"f:theirs":{}}}}`
		kubectls = `kubectl/Apply {"f:spec":{"f:paused":{}}}`
	)
	labelled := threeReplicas().WithLabels(map[string]string{"born": "ours"})
	for name, c := range map[string]struct {
		lost   string // fields of the made-up owner's
		claims []string
		intent apply.Intent
		want   []string // managed fields that are stored; nil: nothing is taken back
		taken  string   // what the outcome names
		err    error
	}{
		"only what the contract has": {
			lost: both, claims: []string{".spec.replicas"}, taken: ".spec.replicas",
			want: []string{`coapply-test/Apply ` + replicas, `before-first-apply/Update {"f:spec":{"f:paused":{}}}`, kubectls},
		},
		"what the intent gives up, too": {
			lost: both, claims: []string{".spec"}, taken: ".spec.paused .spec.replicas", want: []string{`coapply-test/Apply ` + both, kubectls},
		},
		"of everybody's labels those that are wanted": {
			lost: labels, claims: []string{".metadata.labels"}, intent: apply.Intent{Config: labelled}, taken: ".metadata.labels.born",
			want: []string{
				`coapply-test/Apply {"f:metadata":{"f:labels":{".":{},"f:born":{}}}}`,
				`before-first-apply/Update {"f:metadata":{"f:labels":{".":{},"f:theirs":{}}}}`, kubectls,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			read := step{"GET", ok(ownersMadeUp("7", c.lost))}
			steps := []step{read, {rewriteAt7, stores(ownersMadeUp("8", c.lost))}, {toOurs, ok(mended("9"))}}
			if c.want == nil {
				steps = steps[:1]
			}
			s := newScript(t, steps)
			a := s.applierOver(s.restConfig(true), apply.Config{Contract: claims(c.claims...)}, cache{object: ownersMadeUp("7", c.lost)})
			if c.intent.Belongs = isBornOurs; c.intent.Config == nil {
				c.intent.Config = threeReplicas()
			}
			outcome, err := a.Apply(t.Context(), c.intent)
			if !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Errorf("%v, want %v", err, c.err)
			}
			if taken := fmt.Sprint(outcome.TakenBack); taken != "["+c.taken+"]" {
				t.Errorf("taken back: %s, want [%s]", taken, c.taken)
			}
			if diff := cmp.Diff(c.want, s.rewritten()); diff != "" {
				t.Errorf("managed fields sent (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTakeBackOfNothing: what is not lost by the contract needs no live read, whatever else the
// made-up owner has.
func TestTakeBackOfNothing(t *testing.T) {
	const replicas = `{"f:spec":{"f:replicas":{}}}`
	older := entry(fieldowners.BeforeFirstApply, "Update", "", replicas)
	older.APIVersion = "apps/v1beta1"
	for reason, made := range map[string]metav1.ManagedFieldsEntry{
		"another field":         entry(fieldowners.BeforeFirstApply, "Update", "", `{"f:spec":{"f:paused":{}}}`),
		"in another version":    older,
		"somebody of that name": entry(fieldowners.BeforeFirstApply, "Apply", "", replicas),
		"another owner":         entry("hpa", "Update", "", replicas),
		"through the status":    entry(fieldowners.BeforeFirstApply, "Update", "status", replicas),
		"nobody can read it":    entry(fieldowners.BeforeFirstApply, "Update", "", `{"spec":{}}`),
	} {
		t.Run(reason, func(t *testing.T) {
			cached := wiped("7")
			cached.ManagedFields[0] = made
			s := newScript(t, []step{{toOurs, ok(mended("8"))}})
			a := s.applierOver(s.restConfig(true), apply.Config{Contract: claims(".spec.replicas")}, cache{object: cached})
			if outcome, err := a.Apply(t.Context(), apply.Intent{Config: threeReplicas(), Belongs: isBornOurs}); err != nil || len(outcome.TakenBack) > 0 {
				t.Errorf("taken back: %v, %v", outcome.TakenBack, err)
			}
		})
	}
}

// TestTakeBackOfAConflict: only a field that is ours, that the made-up owner has and that the
// policy rejects is looked for.
func TestTakeBackOfAConflict(t *testing.T) {
	phantomPause := cause(".spec.paused", `"before-first-apply" using apps/v1`)
	for reason, c := range map[string]struct {
		policy    apply.Policy
		conflicts answer
	}{
		"another owner's":      {apply.Policy{}, conflict(hpaReplicas)},
		"not by the contract":  {apply.Policy{}, conflict(phantomPause)},
		"not what is rejected": {apply.Policy{}.At(".spec.replicas", apply.Relinquish), conflict(phantomReplicas, kubectlPause)},
	} {
		t.Run(reason, func(t *testing.T) {
			live := ownersMadeUp("7", `{"f:spec":{"f:paused":{},"f:replicas":{}}}`)
			live.ManagedFields = append(live.ManagedFields, web("", "").ManagedFields[0])
			s := newScript(t, []step{{toOurs, c.conflicts}, {"GET", ok(live)}})
			a := s.applierOver(s.restConfig(true), apply.Config{Contract: claims(".spec.replicas"), Policy: c.policy}, cache{object: mended("6")})
			if _, err := a.Apply(t.Context(), apply.Intent{Config: replicasAndPause(), Belongs: isBornOurs}); !errors.Is(err, apply.ErrConflict) {
				t.Error(err)
			}
		})
	}
}

// TestTakeBackCounts: the apply that has owners made up is a request and an attempt, also where
// requests are not recorded.
func TestTakeBackCounts(t *testing.T) {
	bare := ownersHidden(bornOurs("uid-1", "7"))
	s := newScript(t, []step{{"GET", ok(bare)}, {madeUpAt7, otherUID()}})
	a := s.applierOver(s.restConfig(false), apply.Config{Contract: claims(".spec.replicas")}, cache{object: bare})
	outcome, err := a.Apply(t.Context(), apply.Intent{Config: threeReplicas(), Belongs: isBornOurs})
	if !errors.Is(err, apply.ErrUIDMismatch) || outcome.Requests != 2 || outcome.Attempts != 1 {
		t.Errorf("%+v, %v; want two requests, one attempt", outcome, err)
	}
}

// TestTakeBackForgets: what an intent gave way in before the wipe is not left out afterwards,
// when it is ours: the server would remove it.
func TestTakeBackForgets(t *testing.T) {
	s := newScript(t, []step{
		{toOurs, conflict(hpaReplicas)}, {"GET", ok(bornOurs("uid-1", "7"))}, {toOurs, ok(bornOurs("uid-1", "8"))},
		{"GET", ok(wiped("9"))}, {"REWRITE uid=uid-1 resourceVersion=9", stores(wiped("10"))}, {toOurs, ok(mended("11"))},
	})
	cached := &cache{object: bornOurs("uid-1", "7")}
	a := s.applierOver(s.restConfig(true), apply.Config{Contract: claims(".spec.replicas"), Policy: relinquish}, cached)
	for range 2 {
		if _, err := a.Apply(t.Context(), apply.Intent{Config: threeReplicas(), Belongs: isBornOurs}); err != nil {
			t.Fatal(err)
		}
		cached.object = wiped("9")
	}
	if !strings.Contains(lastBody(s), `"replicas":3`) {
		t.Errorf("sent %s", lastBody(s))
	}
}
