package fieldowners_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

func TestWriters(t *testing.T) {
	applied := func(manager, field string, second int64) metav1.ManagedFieldsEntry {
		e := entry(manager, "Apply", `{"f:spec":{"f:`+field+`":{}}}`)
		e.Time = new(metav1.NewTime(time.Unix(second, 0)))
		return e
	}
	type entries = []metav1.ManagedFieldsEntry
	for _, test := range []struct {
		reason        string
		before, after entries
		want          string
	}{
		{"a value", entries{applied("a", "x", 1), applied("b", "y", 1)}, entries{applied("a", "x", 2), applied("b", "y", 1)}, "[a/Apply]"},
		{"a field, within the second", entries{applied("a", "x", 1)}, entries{applied("a", "x", 1), applied("b", "y", 1)}, "[b/Apply]"},
		{"a field of its own, within the second", entries{applied("a", "x", 1)}, entries{applied("a", "y", 1)}, "[a/Apply]"},
		{"one more without a time", nil, entries{entry("a", "Apply", `{"f:spec":{}}`)}, "[a/Apply]"},
		{"who loses has not written", entries{applied("a", "x", 1), applied("b", "y", 1)}, entries{applied("b", "x", 2)}, "[b/Apply]"},
		{"a deletion", entries{applied("a", "x", 1), applied("b", "y", 1)}, entries{applied("b", "y", 1)}, "[]"},
	} {
		if got := fmt.Sprint(fieldowners.Writers(mustParse(test.before...), mustParse(test.after...))); got != test.want {
			t.Errorf("%s: %s, want %s", test.reason, got, test.want)
		}
	}
}

// TestWritersInOrder has more of them than a map of Go has in order by chance.
func TestWritersInOrder(t *testing.T) {
	var entries []metav1.ManagedFieldsEntry
	for i := range 20 {
		entries = append(entries, entry(fmt.Sprint("m", i), "Apply", `{"f:spec":{}}`))
	}
	if writers := fieldowners.Writers(mustParse(), mustParse(entries...)); len(writers) != 20 || !slices.IsSortedFunc(writers, fieldowners.Manager.Compare) {
		t.Errorf("%v", writers)
	}
}
