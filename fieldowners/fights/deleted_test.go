package fights_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/fights"
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
		want   string   // what is told first
	}{
		{"one applies a field, another deletes it by an update", []string{"a=x@N", ""},
			"a/Apply set it, and somebody whom managed fields do not name, or itself, deleted it, 6 times in a minute"},
		{"the same by updates, beside others", []string{"a/u=x@N c=z@0", "c=z@0"},
			"a/Update set it, and somebody whom managed fields do not name, or itself, deleted it, 6 times in a minute"},
		{"who deletes writes something else as well", []string{"a=x@N", "b=y@N"},
			"a/Apply and b/Apply in turn set and deleted it, 6 times in a minute"},
		{"its owner applies without it: no fight", []string{"a=x@N a/u=z@0", "a=y@N a/u=z@0"}, ""},
		{"a share that ends: no fight", []string{"a=x@0 b=x@0", "a=x@0"}, ""},
		{"a status: no fight", []string{"a/s=x@N", ""}, ""},
		{"values: no fight", []string{"a=x@N b=y@0", "a=x@0 b=y@N"}, ""},
		{"one takes it from the other", []string{"a=x@N", "b=x@N"}, "a/Apply and b/Apply took it from each other 6 times in a minute"},
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
				for _, fight := range f.ObserveWrite("web", before, after, fightStart.Add(time.Duration(i)*time.Second)) {
					if got == "" {
						got = fight.Message()
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
