package update_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"coapply.dev/apply/update"
)

// What is logged of a call with one stale write; level 1 is the detail.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(pod())
		s.puts = []answer{with(staleWrite())}
		object := cached(t, s, pod())

		var lines []string
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 1})
		ctx := logr.NewContext(t.Context(), log)
		if _, err := update.Do(ctx, s.updaterWith(t, update.Exponential), object, label); err != nil {
			t.Fatal(err)
		}
		const call = `"verb"="Do" "fieldManager"="test" "kind"="Pod" "object"={"name"="pod" "namespace"="ns"} `
		for i := range lines {
			lines[i] = strings.Replace(lines[i], call, "", 1)
		}
		want := []string{
			`"level"=1 "msg"="attempt to change the object" "attempt"=1 "of"=4 "after"="0s" "resourceVersion"="999"`,
			`"level"=0 "msg"="stale write" "attempt"=1 "of"=4 "warning"=true "resourceVersion"="999" ` +
				`"error"="Operation cannot be fulfilled on pods \"pod\": the object has been modified"`,
			`"level"=0 "msg"="attempt to change the object" "attempt"=2 "of"=4 "after"="100ms" "resourceVersion"="999"`,
			`"level"=0 "msg"="written" "attempt"=2 "of"=4 "resourceVersion"="1000" "changed"=true`,
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// TestLogOfPhases: a write that changes status.phase is logged with the phase before and after.
func TestLogOfPhases(t *testing.T) {
	before := pod()
	before.Status.Phase = corev1.PodPending
	s := newServer(before)
	object := cached(t, s, before)
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 1})
	_, err := update.Status(logr.NewContext(t.Context(), log), s.updaterWith(t, update.Exponential), object, func(pod *corev1.Pod) error {
		pod.Status.Phase = corev1.PodRunning
		return nil
	})
	if last := lines[len(lines)-1]; err != nil || !strings.Contains(last, `"oldPhase"="Pending" "phase"="Running" `) {
		t.Errorf("%v: %q", err, last)
	}
}

// What is logged of calls that write nothing.
func TestLogOfNothing(t *testing.T) {
	for reason, test := range map[string]struct {
		call func(ctx context.Context, u *update.Updater, given *corev1.Pod) error
		gets []answer
		want []string
	}{
		"as it is": {call: func(ctx context.Context, u *update.Updater, given *corev1.Pod) error {
			_, err := update.Do(ctx, u, given, func(*corev1.Pod) error { return nil })
			return err
		}, want: []string{"nothing to write"}},
		"as it is, by a name": {call: func(ctx context.Context, u *update.Updater, given *corev1.Pod) error {
			given.UID = ""
			_, err := update.Do(ctx, u, given, func(*corev1.Pod) error { return nil })
			return err
		}, want: []string{"attempt to change the object", "nothing to write"}},
		"absent": {call: func(ctx context.Context, u *update.Updater, given *corev1.Pod) error {
			_, err := update.RemoveFinalizer(ctx, u, given, mine)
			return err
		}, gets: []answer{with(notFound())}, want: []string{"the object does not exist, so there is nothing to do"}},
		"refused": {call: func(ctx context.Context, u *update.Updater, given *corev1.Pod) error {
			_, err := update.Do(ctx, u, given, func(p *corev1.Pod) error { p.Name = "other"; return nil })
			if !errors.Is(err, update.ErrIdentityChanged) {
				return fmt.Errorf("want ErrIdentityChanged: %w", err)
			}
			return nil
		}},
	} {
		s := newServer(pod(mine))
		s.gets = test.gets
		var said []string
		log := funcr.NewJSON(func(line string) {
			var parts struct{ Msg string }
			if err := json.Unmarshal([]byte(line), &parts); err != nil {
				t.Error(err)
			}
			said = append(said, parts.Msg)
		}, funcr.Options{Verbosity: 1})
		if err := test.call(logr.NewContext(t.Context(), log), s.updater(t), cached(t, s, pod())); err != nil || !slices.Equal(said, test.want) {
			t.Errorf("%s: said %q, %v, want %q", reason, said, err, test.want)
		}
	}
}
