package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
)

func TestWatchNarrows(t *testing.T) {
	managed := func(version string, entries ...string) *watched {
		w := &watched{namespace: "shop", name: "web", uid: "u1", version: version}
		var err error
		if w.ownership, err = appliedBy(entries...); err != nil {
			t.Fatal(err)
		}
		return w
	}
	target := Target{Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}}
	before := managed("1", "a", "replicas", "a", "paused", "b", "image")
	after := managed("2", "c", "replicas", "b", "paused", "b", "image")
	anew := managed("3", "c", "replicas")
	anew.uid = "u2"
	steps := []change{{after: before}, {before: before, after: after}, {before: after, after: anew}}
	for _, test := range []struct {
		reason string
		narrow func(*reporter)
		want   []string
	}{
		{"everything", func(*reporter) {}, []string{"created a,b", "moved .spec.paused a>b", "moved .spec.replicas a>c", "deleted", "created c"}},
		{"a path", func(r *reporter) { r.path = fieldowners.MustParsePath(".spec.replicas") }, []string{"created a", "moved .spec.replicas a>c", "deleted", "created c"}},
		{"a path that nobody owns", func(r *reporter) { r.path = fieldowners.MustParsePath(".spec.none") }, nil},
		{"who loses", func(r *reporter) { r.managers = []string{"a"} }, []string{"created a", "moved .spec.paused a>b", "moved .spec.replicas a>c"}},
		{"who gains", func(r *reporter) { r.managers = []string{"c"} }, []string{"moved .spec.replicas a>c", "deleted", "created c"}},
		{"a selection", func(r *reporter) { r.bySelector = true; r.managers = []string{"b"} }, []string{"entered b", "moved .spec.paused a>b", "left"}},
		{"only fights", func(r *reporter) { r.onlyFights = true }, nil},
	} {
		var out bytes.Buffer
		report, err := newReporter(5, &out, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		report.json = true
		test.narrow(report)
		for _, step := range steps {
			step.target = target
			if err := report.step(step); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(test.want, inShort(t, out.String())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func inShort(t *testing.T, lines string) []string {
	var short []string
	for line := range strings.Lines(lines) {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range e.Managers {
			names = append(names, m.Name)
		}
		text := []string{e.Type, e.Path, strings.Join(names, ",")}
		if e.From != nil && e.To != nil {
			text = append(text, e.From.Name+">"+e.To.Name)
		}
		short = append(short, strings.Join(slices.DeleteFunc(text, func(s string) bool { return s == "" }), " "))
	}
	return short
}

// appliedBy gives fields of the spec to appliers: manager, field, manager, field.
func appliedBy(pairs ...string) (fieldowners.Ownership, error) {
	var entries []metav1.ManagedFieldsEntry
	for pair := range slices.Chunk(pairs, 2) {
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: pair[0], Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:spec":{"f:%s":{}}}`, pair[1])),
		})
	}
	return fieldowners.Parse(entries)
}
