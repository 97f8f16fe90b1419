package apply_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

func TestPlanString(t *testing.T) {
	path := fieldowners.MustParsePath
	us := fieldowners.Manager{Name: "us", Operation: metav1.ManagedFieldsOperationApply}
	ourStatus, ourUpdate := us, us
	ourStatus.Subresource, ourUpdate.Subresource, ourUpdate.Operation = "status", "status", metav1.ManagedFieldsOperationUpdate
	hpa := fieldowners.Manager{Name: "hpa", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale"}
	long := fieldowners.Manager{Name: strings.Repeat("long-name-", 4), Operation: metav1.ManagedFieldsOperationApply}
	change := func(p string, before, after any) fieldowners.Change {
		return fieldowners.Change{Path: path(p), Before: before, After: after, Existed: before != nil, Exists: after != nil}
	}
	for _, test := range []struct {
		reason string
		plan   apply.Plan
		want   string
	}{
		{"nothing to do", apply.Plan{Action: apply.Unchanged}, "Deployment shop/web: would be unchanged by us\n"},
		{"nothing there", apply.Plan{Action: apply.Absent}, "Deployment shop/web: the object does not exist, so us cannot apply the intent\n"},
		{
			"a long error",
			apply.Plan{Refused: errors.New(strings.Repeat("word ", 20))},
			"Deployment shop/web: an apply by us would be refused\n" +
				"  " + strings.TrimSpace(strings.Repeat("word ", 20)) + "\n",
		},
		{
			"long values are cut, paths are not", apply.Plan{Action: apply.Configured, Effect: fieldowners.Effect{Changes: []fieldowners.Change{
				change(`.metadata.annotations["example.com/a"]`, strings.Repeat("x", 100), strings.Repeat("y", 100)),
				change(".spec."+strings.Repeat("p", 80), nil, int64(1)),
			}}},
			"Deployment shop/web: would be configured by us\nchanges:\n" +
				`  .metadata.annotations["example.com/a"]: "` + strings.Repeat("x", 79) + `… -> "` + strings.Repeat("y", 79) + "…\n" +
				"  .spec." + strings.Repeat("p", 80) + ": added 1\n",
		},
		{
			"values that are hidden", apply.Plan{Action: apply.Configured, Conflicts: []apply.Conflict{
				{Manager: hpa, Path: path(".data.a"), Ours: "x", Theirs: "y", Decision: apply.Force, Hidden: true},
			}},
			"Deployment shop/web: would be configured by us\nconflicts:\n" +
				"  Force .data.a to (hidden): owned by hpa/Update[scale] with value (hidden)\n",
		},
		{
			"everything there is", apply.Plan{
				Action: apply.Configured, Subresource: "status",
				Conflicts: []apply.Conflict{
					{Manager: hpa, Path: path(".spec.replicas"), Ours: int64(3), Theirs: int64(5), Decision: apply.Force},
					{Manager: long, Path: path(".spec.paused"), Ours: true, Theirs: false, Decision: apply.Share},
					{Manager: hpa, ServerPath: ".a.b", Decision: apply.Force},
				},
				Effect: fieldowners.Effect{
					Manager: ourStatus,
					Taken:   []fieldowners.Moved{{Path: path(".spec.replicas"), From: hpa, To: us}},
					Shared:  []fieldowners.Owned{{Path: path(".spec.paused"), Manager: long}},
					Gained:  []fieldowners.Path{path(".spec.paused")},
					Dropped: []fieldowners.Dropped{
						{Change: change(".spec.a", int64(1), nil)},
						{Change: change(".spec.b", int64(1), int64(2)), Owners: []fieldowners.Manager{hpa}},
					},
					Ownership: fieldowners.Difference{
						Lost:   []fieldowners.Owned{{Path: path(".spec.c"), Manager: hpa}},
						Gained: []fieldowners.Owned{{Path: path(".spec.d"), Manager: us}, {Path: path(".status.a"), Manager: ourUpdate}, {Path: path(".status.b"), Manager: ourStatus}},
					},
				},
			},
			`Deployment shop/web (status): would be configured by us
conflicts:
  Force .spec.replicas to 3: owned by hpa/Update[scale] with value 5
  Share .spec.paused to true: owned by long-name-long-name-long-name-long-name-/Apply with value false
  Force .a.b: owned by hpa/Update[scale]
taken:
  .spec.replicas: hpa/Update[scale] -> us/Apply
shared:
  .spec.paused of long-name-long-name-long-name-long-name-/Apply
gained:
  .spec.paused
dropped:
  .spec.a: removed, with its value 1
  .spec.b: 1 -> 2, owned by hpa/Update[scale]
lost by other managers:
  .spec.c of hpa/Update[scale]
gained by other managers:
  .spec.d of us/Apply
  .status.a of us/Update[status]
`,
		},
		{
			"the changes of a new object say what is gained",
			apply.Plan{Action: apply.Created, Effect: fieldowners.Effect{Creates: true, Gained: []fieldowners.Path{path(".a"), path(".b")}}},
			"Deployment shop/web: would be created by us\n",
		},
	} {
		test.plan.FieldManager, test.plan.Object = "us", webAt("")
		if diff := cmp.Diff(test.want, test.plan.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestPlanStringOfNothing(t *testing.T) {
	if got := (apply.Plan{}).String(); got != "nothing was planned\n" {
		t.Errorf("a plan that came with an error reads %q", got)
	}
	if got := (apply.Plan{Object: webAt("")}).String(); got != "Deployment shop/web: nothing was planned\n" {
		t.Errorf("a plan that is not filled in reads %q", got)
	}
}
