package apply_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
)

// entriesOf are the owners when we own fields by Apply of the object, for "", or through subresources.
func entriesOf(subresources ...string) []metav1.ManagedFieldsEntry {
	entries := []metav1.ManagedFieldsEntry{hpa, kubectl, entry(manager, "Update", "", `{"f:spec":{"f:minReadySeconds":{}}}`)}
	fields := map[string]string{"": `{"f:spec":{"f:paused":{}}}`, "scale": `{"f:spec":{"f:replicas":{}}}`}
	for _, subresource := range subresources {
		text, ok := fields[subresource]
		if !ok {
			text = `{"f:status":{"f:replicas":{}}}`
		}
		entries = append(entries, entry(manager, "Apply", subresource, text))
	}
	return entries
}

const (
	pinnedStatus = "PATCH /status uid"
	merges       = "PATCH uid resourceVersion" // of the managed fields
)

// release is a Release of the Deployment web.
type release struct {
	owners  []metav1.ManagedFieldsEntry
	happens func(*world)
	uid     string // "": any; "live": that of the Deployment
	of      []string

	sent     []string
	want     apply.Action
	err      error
	attempts int
}

func (r release) run(t *testing.T) {
	w := newWorld(t)
	w.Own(r.owners...)
	object := webAt("")
	if object.UID = w.Live().UID; r.uid != "live" {
		object.UID = types.UID(r.uid)
	}
	if r.happens != nil {
		r.happens(w)
	}
	outcome, err := ownership.Release(t.Context(), w.applier(apply.Policy{}), object, r.of...)
	if !errors.Is(err, r.err) || r.err == nil && err != nil {
		t.Fatalf("error %v, want %v", err, r.err)
	}
	got := fmt.Sprint(outcome.Action, outcome.Requests, outcome.Attempts)
	if diff := cmp.Diff(fmt.Sprint(r.want, len(r.sent), r.attempts), got); diff != "" {
		t.Errorf("action, requests, attempts (-want +got):\n%s", diff)
	}
	w.WantSent(r.sent...)
	if outcome.Object.NamespacedName != object.NamespacedName {
		t.Errorf("outcome of %v", outcome.Object)
	}
	for _, body := range w.Bodies() {
		if want := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"`; !strings.HasPrefix(body, want) && !strings.Contains(body, "managedFields") {
			t.Errorf("sent %s, want %s", body, want)
		}
	}
	if err == nil && r.want != apply.Absent && len(r.of) == 0 && slices.ContainsFunc(w.Live().ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply
	}) {
		t.Errorf("still ours: %v", w.Live().ManagedFields)
	}
	if err == nil && r.want != apply.Absent && outcome.Object.ResourceVersion != w.Live().ResourceVersion {
		t.Errorf("the outcome is at %s, the object at %s", outcome.Object.ResourceVersion, w.Live().ResourceVersion)
	}
}

func TestRelease(t *testing.T) {
	required := entry(manager, "Apply", "", `{"f:spec":{"f:selector":{}}}`)
	for reason, test := range map[string]release{
		"of the object read": {owners: entriesOf(""), sent: []string{read, pinned}, want: apply.Configured, attempts: 1},
		"subresources first": {
			owners: entriesOf("", "status"), uid: "live", sent: []string{read, pinnedStatus, pinned}, want: apply.Configured, attempts: 2,
		},
		"what is owned by Update stays": {owners: entriesOf(), sent: []string{read}, want: apply.Unchanged},
		"no managed fields":             {sent: []string{read}, want: apply.Unchanged},
		"absent":                        {owners: entriesOf(""), uid: "live", happens: removed, sent: []string{read}, want: apply.Absent},
		"recreated":                     {owners: entriesOf(""), uid: "uid-0", sent: []string{read}, err: apply.ErrUIDMismatch},
		"deleted meanwhile": {
			owners: entriesOf(""), uid: "live", happens: before(2, removed), sent: []string{read, pinned, read}, want: apply.Absent, attempts: 1,
		},
		"deleted meanwhile, of a subresource": {
			owners: entriesOf("", "status"), uid: "live", happens: before(2, removed), sent: []string{read, pinnedStatus, read}, want: apply.Absent, attempts: 1,
		},
		"recreated meanwhile": {
			owners: entriesOf(""), happens: before(2, recreated()), sent: []string{read, pinned}, err: apply.ErrUIDMismatch, attempts: 1,
		},
		"deleted, then recreated": {
			owners: entriesOf(""), happens: allOf(before(2, removed), before(3, appears)), sent: []string{read, pinned, read}, err: apply.ErrUIDMismatch, attempts: 1,
		},
		"a race inside the server": {
			owners: entriesOf(""), happens: fails(2, overtaken), sent: []string{read, pinned, read, pinned}, want: apply.Configured, attempts: 2,
		},
		"the object cannot be without our fields": {
			owners: []metav1.ManagedFieldsEntry{required}, sent: []string{read, pinned}, err: apply.ErrRefused, attempts: 1,
		},
		"managed fields of ours that nobody can read": {
			owners: []metav1.ManagedFieldsEntry{entry(manager, "Apply", "", deep(""))}, sent: []string{read}, err: apply.ErrRefused,
		},
		"no uid to pin to": {
			owners: entriesOf(""), happens: reading(func(o client.Object) { o.SetUID("") }), sent: []string{read}, err: apply.ErrRefused,
		},
		"no answer": {owners: entriesOf(""), happens: fails(1, unavailable), sent: []string{read}, err: apply.ErrRetryable},

		// Our entry of a scale is taken out of the managed fields, at the version that was read, and first.
		"of a scale": {owners: entriesOf("scale"), sent: []string{read, merges}, want: apply.Configured, attempts: 1},
		"of a scale, before the object itself": {
			owners: entriesOf("", "status", "scale"), sent: []string{read, merges, pinnedStatus, pinned}, want: apply.Configured, attempts: 3,
		},
		"of a scale, before a subresource that comes first by its name": { // which the server does not have
			owners: entriesOf("resize", "scale"), sent: []string{read, merges, "PATCH /resize uid", read}, err: apply.ErrRefused, attempts: 2,
		},
		"of a scale, and somebody else was faster": {
			owners: entriesOf("scale"), happens: before(2, owned(entriesOf()...)), sent: []string{read, merges, read}, want: apply.Unchanged, attempts: 1,
		},
		"what is asked for": {
			owners: entriesOf("", "status", "scale"), of: []string{"status"}, sent: []string{read, pinnedStatus}, want: apply.Configured, attempts: 1,
		},
		"nothing of what is asked for": {owners: entriesOf("scale"), of: []string{"status"}, sent: []string{read}, want: apply.Unchanged},
		"of a scale, overtaken": {
			owners: entriesOf("scale"), happens: before(2, touched), sent: []string{read, merges, read, merges}, want: apply.Configured, attempts: 2,
		},
		"of a scale, overtaken each time": {
			owners: entriesOf("scale"), happens: func(w *world) {
				for i := range 8 {
					before(2+2*i, touched)(w)
				}
			}, sent: slices.Repeat([]string{read, merges}, 8), err: apply.ErrContended, attempts: 8,
		},
		"of a scale, refused": {
			owners: entriesOf("scale"), happens: fails(2, forbidden), sent: []string{read, merges}, err: apply.ErrRefused, attempts: 1,
		},
	} {
		t.Run(reason, func(t *testing.T) { synctest.Test(t, test.run) })
	}
}

// TestReleaseOfAScaleLeavesOthers: all entries but ours stay as they are.
func TestReleaseOfAScaleLeavesOthers(t *testing.T) {
	w := newWorld(t)
	replicas := `{"f:spec":{"f:replicas":{}}}`
	w.Own(append(entriesOf("status", "scale"), entry(manager, "Update", "scale", replicas), entry("other", "Apply", "scale", replicas))...)
	if _, err := ownership.Release(t.Context(), w.applier(apply.Policy{}), webAt(""), "scale"); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range w.Live().ManagedFields {
		names = append(names, strings.Join([]string{e.Manager, string(e.Operation), e.Subresource}, "/"))
	}
	slices.Sort(names)
	want := []string{manager + "/Apply/status", manager + "/Update/", manager + "/Update/scale", "hpa/Update/scale", "kubectl/Apply/", "other/Apply/scale"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
