package fights_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/fights"
	"coapply.dev/fieldowners"
)

// stateOf reads "a=x@3 b=y@4 c/u=z@5": who owns which field of the spec, and wrote when last; /u
// is by Update, /s by Update of the status.
func stateOf(text string) fieldowners.Ownership {
	var entries []metav1.ManagedFieldsEntry
	for one := range strings.FieldsSeq(text) {
		var second int
		who, rest, _ := strings.Cut(one, "=")
		field, at, _ := strings.Cut(rest, "@")
		if _, err := fmt.Sscan(at, &second); err != nil {
			panic(err)
		}
		e := entry(who, metav1.ManagedFieldsOperationApply, `{"f:spec":{"f:`+field+`":{}}}`)
		name, how, updates := strings.Cut(who, "/")
		if updates {
			e.Manager, e.Operation = name, metav1.ManagedFieldsOperationUpdate
		}
		if how == "s" {
			e.Subresource = "status"
		}
		e.Time = new(metav1.NewTime(fightStart.Add(time.Duration(second) * time.Second)))
		entries = append(entries, e)
	}
	o, err := fieldowners.Parse(entries)
	if err != nil {
		panic(err)
	}
	return o
}

// TestOfDeletions repeats states, of which "@N" is the second of the step.
func TestOfDeletions(t *testing.T) {
	for _, test := range []struct {
		reason string
		states []string // one second each
		want   string   // what is told first, behind its second
	}{
		{"one applies a field, another deletes it by an update", []string{"a=x@N", ""},
			"6: the field changed 6 times in a minute: a/Apply set the field, and an unknown manager deleted the field (managed fields do not record deletions, so one manager may have done both)"},
		{"the same by updates, beside others", []string{"a/u=x@N c=z@0", "c=z@0"},
			"6: the field changed 6 times in a minute: a/Update set the field, and an unknown manager deleted the field (managed fields do not record deletions, so one manager may have done both)"},
		{"who deletes writes something else as well", []string{"a=x@N", "b=y@N"},
			"6: the field changed 6 times in a minute: a/Apply and b/Apply set and deleted the field in turn"},
		{"its owner applies without it: no fight", []string{"a=x@N a/u=z@0", "a=y@N a/u=z@0"}, ""},
		{"a share that ends: no fight", []string{"a=x@0 b=x@0", "a=x@0"}, ""},
		{"a status: no fight", []string{"a/s=x@N", ""}, ""},
		{"its owner applies without it while another one writes: no fight", []string{"a=x@N b=y@0", "a=z@N b=y@N"}, ""},
		{"one takes it and gives it up, and another sets it: no fight", []string{"b=x@N", "b=y@N", "c=x@N b=y@0"}, ""},
		{"a share that ends, and what its owner gives up and another sets: no fight", []string{"a=x@0 b=x@0", "a=x@0", "a=y@N", "b=x@N a=y@0"}, ""},
		{"who deleted it sets and shares it: no fight", []string{"a=x@N b=y@0", "b=y@N", "b=x@N", "a=x@N b=x@0"}, ""},
		{"who deleted it sets it for a while", []string{"a=x@N b=y@0", "b=y@N", "b=x@N", "b=y@N"},
			"12: the field changed 6 times in a minute: a/Apply and b/Apply set and deleted the field in turn"},
		{"two that share it, and one deletes it", []string{"a=x@N b=x@N c=y@0", "c=y@N"},
			"6: the field changed 6 times in a minute: a/Apply and c/Apply set and deleted the field in turn"},
		{"in the order of paths", []string{"a=x@N c=d@N", "b=x@N"}, "6: the field changed 6 times in a minute: b/Apply and c/Apply set and deleted the field in turn"},
		{"values: no fight", []string{"a=x@N b=y@0", "a=x@0 b=y@N"}, ""},
		{"one takes it from the other", []string{"a=x@N", "b=x@N"}, "6: a/Apply and b/Apply took the field from each other 6 times in a minute"},
	} {
		f, err := fights.New(5)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		var before fieldowners.Ownership
		for i := range 20 {
			text := test.states[i%len(test.states)]
			after := stateOf(strings.ReplaceAll(text, "N", fmt.Sprint(i)))
			if i > 0 {
				for _, fight := range f.Observe("web", before, after, fightStart.Add(time.Duration(i)*time.Second)) {
					if got == "" {
						got = fmt.Sprint(i, ": ", fight.Message())
					}
				}
			}
			before = after
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// TestDeletedBefore: once a field was set again, nobody is told of who had deleted it.
func TestDeletedBefore(t *testing.T) {
	states := []string{"a=x@N b=y@0", "b=y@N", "a=x@N b=y@0", "a=y@N b=y@0", "c=x@N b=y@0", "b=x@N"}
	f := newDetector(t, 2)
	var before fieldowners.Ownership
	told := 0
	for i := range 30 {
		after := stateOf(strings.ReplaceAll(states[i%len(states)], "N", fmt.Sprint(i)))
		for _, fight := range f.Observe("web", before, after, fightStart.Add(time.Duration(i)*time.Second)) {
			if told++; slices.ContainsFunc(fight.Managers, func(m fieldowners.Manager) bool { return m.Name == "c" }) {
				t.Errorf("%v: c only lost it", fight)
			}
		}
		before = after
	}
	if told == 0 {
		t.Error("nothing is told")
	}
}
