package integration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// story is what happens to one object while we reconcile it.
type story struct {
	reason     string
	policy     apply.Policy
	form       shape
	unrecorded bool // without RecordExchange, so that a typed answer shows no owners
	happened   []turn
}

var (
	byOther  = []string{"other/Apply"}
	byBoth   = []string{"other/Apply", "us/Apply"}
	byUs     = []string{"us/Apply"}
	found    = turn{reason: "the conflict is found", sends: discover, conflicts: []string{"other Relinquish"}, owners: byOther}
	shared   = turn{reason: "the conflict is found", sends: discover, conflicts: []string{"other Share"}, owners: byBoth}
	gaveWay  = []string{"other Relinquish remembered"}
	coOwned  = []string{"other Share remembered"}
	whole    = "PATCH 200"
	byWhole  = turn{reason: "nothing is left to remember", sends: whole, ours: true, owners: byUs}
	relinq   = apply.OnConflict(apply.Relinquish)
	theTitle = crdShapes["custom scalar"]
)

func applies(manager, text string) func(*stage, shape) {
	return func(s *stage, _ shape) { s.apply(manager, text) }
}

func updates(manager, text string) func(*stage, shape) {
	return func(s *stage, _ shape) { s.update(manager, text) }
}

// handsOver has a third manager take the field from the other one.
func handsOver(s *stage, form shape) { s.apply("third", form.theirs); s.apply("other", `{}`) }

func removes(s *stage, _ shape) { s.must(s.client.Delete(s.t.Context(), s.object(`{}`))) }

// recreates has the other owner create the object anew.
func recreates(s *stage, form shape) {
	removes(s, form)
	s.must(s.client.Create(s.t.Context(), s.object(bases[form.kind]), client.FieldOwner("base")))
	s.apply("other", form.theirs)
}

var stories = []story{
	{
		reason: "the other one changes its value, which is none of our business", policy: relinq, form: theTitle,
		happened: []turn{found, {reason: "it applies", happens: applies("other", `{spec: {title: new}}`), sends: one, conflicts: gaveWay, owners: byOther}},
	},
	{
		reason: "the other one comes to our value: the field is owned by both", policy: relinq, form: theTitle,
		happened: []turn{
			found,
			{reason: "it applies", happens: applies("other", `{spec: {title: ours}}`), sends: two, ours: true, owners: byBoth},
			{reason: "and that is the new steady state", sends: whole, ours: true, owners: byBoth},
			{reason: "until it changes its mind", happens: applies("other", `{spec: {title: theirs}}`), sends: discover, conflicts: []string{"other Relinquish"}, owners: byOther},
		},
	},
	{
		reason: "the owner changes, the decision does not", policy: relinq, form: theTitle,
		happened: []turn{
			found,
			{reason: "a third takes it", happens: handsOver, sends: one, conflicts: []string{"third Relinquish remembered"}, owners: []string{"third/Apply"}},
			{reason: "by update", happens: updates("fourth", `{spec: {title: new}}`), sends: one, conflicts: []string{"fourth Relinquish remembered"}, owners: []string{"fourth/Update"}},
		},
	},
	{
		reason: "the new owner is rejected: what landed before stays", form: theTitle,
		policy: relinq.When(apply.Match{Manager: "third"}, apply.Reject),
		happened: []turn{
			found,
			{reason: "as before", sends: one, conflicts: gaveWay, owners: byOther},
			{
				reason: "a third takes it", happens: handsOver, sends: "PATCH 200, PATCH 409, GET 200", refused: apply.ErrConflict,
				conflicts: []string{"third Reject"}, owners: []string{"third/Apply"},
			},
			{reason: "which is not forgotten", sends: "PATCH 409, GET 200", refused: apply.ErrConflict, conflicts: []string{"third Reject"}, owners: []string{"third/Apply"}},
		},
	},
	{
		reason: "the new owner is one to take the field from", form: theTitle,
		policy: relinq.When(apply.Match{Operation: metav1.ManagedFieldsOperationUpdate}, apply.Force),
		happened: []turn{
			found,
			{
				reason: "an updater comes", happens: updates("third", `{spec: {title: new}}`),
				sends: "PATCH 200, PATCH 409, GET 200, PATCH 409, PATCH 200", conflicts: []string{"third Force"}, ours: true, owners: byUs,
			},
			byWhole,
		},
	},
	{
		reason: "the object is deleted: the whole intent creates it", policy: relinq, form: theTitle,
		happened: []turn{found, {reason: "deleted", happens: removes, sends: "PATCH 409, PATCH 201", ours: true, owners: byUs}, byWhole},
	},
	{
		reason: "the object is recreated: nothing is known of the new one", policy: relinq, form: theTitle,
		happened: []turn{found, {reason: "recreated", happens: recreates, sends: "PATCH 422, " + discover, conflicts: []string{"other Relinquish"}, owners: byOther}},
	},
	{
		reason: "sharing: the other one's change takes the field from us if it updates", policy: apply.OnConflict(apply.Share), form: theTitle,
		happened: []turn{
			shared,
			{
				reason: "it updates", happens: updates("third", `{spec: {title: new}}`), sends: "PATCH 409, " + discover,
				conflicts: []string{"third Share"}, owners: []string{"third/Update", "us/Apply"},
			},
			{reason: "shared again", sends: one, conflicts: []string{"third Share remembered"}, owners: []string{"third/Update", "us/Apply"}},
		},
	},
	{
		reason: "sharing: the other one comes to our value", policy: apply.OnConflict(apply.Share), form: theTitle,
		happened: []turn{
			shared,
			{reason: "by force, as we co-own the field", happens: applies("other", `{spec: {title: ours}}`), sends: "PATCH 409, PATCH 200", ours: true, owners: byBoth},
			{reason: "and that is the new steady state", sends: whole, ours: true, owners: byBoth},
		},
	},
	{
		reason: "sharing: a third one shares as well", policy: apply.OnConflict(apply.Share), form: theTitle,
		happened: []turn{
			shared,
			{
				reason: "a third applies the same", happens: applies("third", theTitle.theirs), sends: one,
				conflicts: coOwned, owners: []string{"other/Apply", "third/Apply", "us/Apply"},
			},
			{
				reason: "the other one leaves", happens: applies("other", `{}`), sends: one,
				conflicts: []string{"third Share remembered"}, owners: []string{"third/Apply", "us/Apply"},
			},
			{reason: "and the third", happens: applies("third", `{}`), sends: two, ours: true, owners: byUs},
		},
	},
	{
		reason: "a typed answer without RecordExchange shows no owners: right, at three requests a time", policy: relinq,
		form: builtinShapes["scalar"], unrecorded: true,
		happened: []turn{
			found, found, found,
			{reason: "the other lets go", happens: applies("other", `{}`), sends: whole, ours: true, owners: byUs},
		},
	},
	{
		reason: "an unstructured answer shows them without RecordExchange", policy: relinq, form: theTitle, unrecorded: true,
		happened: []turn{found, {reason: "remembered", sends: one, conflicts: gaveWay, owners: byOther}},
	},
}

func TestStories(t *testing.T) {
	for _, told := range stories {
		t.Run(told.reason, func(t *testing.T) {
			t.Parallel()
			play(t, told.form, apply.Config{Policy: told.policy}, !told.unrecorded, told.happened)
		})
	}
}
