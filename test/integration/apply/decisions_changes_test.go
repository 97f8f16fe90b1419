package apply

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// story is what happens to one object while we reconcile it.
type story struct {
	reason     string
	policy     apply.Policy
	form       kit.Shape
	unrecorded bool // without RecordExchange, so that a typed answer shows no owners
	happened   []turn
}

var (
	byOther     = []string{"other/Apply"}
	byBoth      = []string{"other/Apply", "us/Apply"}
	byUs        = []string{"us/Apply"}
	firstFound  = turn{reason: "the conflict is found", sends: sendsThree, conflicts: []string{"other Relinquish"}, owners: byOther}
	firstShared = turn{reason: "the conflict is found", sends: sendsThree, conflicts: []string{"other Share"}, owners: byBoth}
	gaveWay     = []string{"other Relinquish remembered"}
	byWhole     = turn{reason: "nothing is left to remember", sends: sendsOne, ours: true, owners: byUs}
	byDefault   = apply.OnConflict(apply.Relinquish)
	theTitle    = kit.CRDShapes["custom scalar"]
)

func appliedBy(manager, text string) func(*kit.Stage, kit.Shape) {
	return func(s *kit.Stage, _ kit.Shape) { s.Apply(manager, text) }
}

func updatedBy(manager, text string) func(*kit.Stage, kit.Shape) {
	return func(s *kit.Stage, _ kit.Shape) { s.Update(manager, text) }
}

// handsOver has a third manager take the field from the other one.
func handsOver(s *kit.Stage, form kit.Shape) { s.Apply("third", form.Theirs); s.Apply("other", `{}`) }

func isDeleted(s *kit.Stage, _ kit.Shape) { s.Must(s.Client.Delete(s.T.Context(), s.Object(`{}`))) }

// isRecreated has the other owner create the object anew.
func isRecreated(s *kit.Stage, form kit.Shape) {
	isDeleted(s, form)
	s.Must(s.Client.Create(s.T.Context(), s.Object(kit.Bases[form.Kind]), client.FieldOwner("base")))
	s.Apply("other", form.Theirs)
}

var stories = []story{
	{
		reason: "the other one changes its value, which is none of our business", policy: byDefault, form: theTitle,
		happened: []turn{firstFound, {reason: "it applies", happens: appliedBy("other", `{spec: {title: new}}`), sends: sendsTwo, conflicts: gaveWay, owners: byOther}},
	},
	{
		reason: "the other one comes to our value: the field is owned by both", policy: byDefault, form: theTitle,
		happened: []turn{
			firstFound,
			{reason: "it applies", happens: appliedBy("other", `{spec: {title: ours}}`), sends: sendsTwo, ours: true, owners: byBoth},
			{reason: "and that is the new steady state", sends: sendsOne, ours: true, owners: byBoth},
			{reason: "until it changes its mind", happens: appliedBy("other", `{spec: {title: theirs}}`), sends: sendsThree, conflicts: []string{"other Relinquish"}, owners: byOther},
		},
	},
	{
		reason: "the owner changes, the decision does not", policy: byDefault, form: theTitle,
		happened: []turn{
			firstFound,
			{reason: "a third takes it", happens: handsOver, sends: sendsTwo, conflicts: []string{"third Relinquish"}, owners: []string{"third/Apply"}},
			{reason: "by update", happens: updatedBy("fourth", `{spec: {title: new}}`), sends: sendsTwo, conflicts: []string{"fourth Relinquish"}, owners: []string{"fourth/Update"}},
		},
	},
	{
		reason: "the new owner is rejected: what landed before stays", form: theTitle,
		policy: byDefault.When(apply.Match{Manager: "third"}, apply.Reject),
		happened: []turn{
			firstFound,
			{reason: "as before", sends: sendsTwo, conflicts: gaveWay, owners: byOther},
			{
				reason: "a third takes it", happens: handsOver, sends: "GET 200, PATCH 409", refused: apply.ErrConflict,
				conflicts: []string{"third Reject"}, owners: []string{"third/Apply"},
			},
			{reason: "which is not forgotten", sends: "GET 200, PATCH 409", refused: apply.ErrConflict, conflicts: []string{"third Reject"}, owners: []string{"third/Apply"}},
		},
	},
	{
		reason: "sharing: one of two owners is rejected", form: theTitle,
		policy: apply.OnConflict(apply.Share).When(apply.Match{Manager: "third"}, apply.Reject),
		happened: []turn{
			firstShared,
			{
				reason: "a third applies the same", happens: appliedBy("third", theTitle.Theirs), sends: "GET 200, PATCH 409", refused: apply.ErrConflict,
				conflicts: []string{"other Share", "third Reject"}, owners: []string{"other/Apply", "third/Apply", "us/Apply"},
			},
		},
	},
	{
		reason: "the new owner is one to take the field from", form: theTitle,
		policy: byDefault.When(apply.Match{Operation: metav1.ManagedFieldsOperationUpdate}, apply.Force),
		happened: []turn{
			firstFound,
			{
				reason: "an updater comes", happens: updatedBy("third", `{spec: {title: new}}`),
				sends: "GET 200, PATCH 409, PATCH 200", conflicts: []string{"third Force"}, ours: true, owners: byUs,
			},
			byWhole,
		},
	},
	{
		reason: "the object is deleted: the whole intent creates it", policy: byDefault, form: theTitle,
		happened: []turn{firstFound, {reason: "deleted", happens: isDeleted, sends: "GET 404, PATCH 201", ours: true, owners: byUs}, byWhole},
	},
	{
		reason: "the object is recreated", policy: byDefault, form: theTitle,
		happened: []turn{firstFound, {reason: "recreated", happens: isRecreated, sends: sendsTwo, conflicts: []string{"other Relinquish"}, owners: byOther}},
	},
	{
		reason: "sharing: the other one's change takes the field from us if it updates", policy: apply.OnConflict(apply.Share), form: theTitle,
		happened: []turn{
			firstShared,
			{
				reason: "it updates", happens: updatedBy("third", `{spec: {title: new}}`), sends: sendsTwo,
				conflicts: []string{"third Share"}, owners: []string{"third/Update", "us/Apply"},
			},
			{reason: "shared again", sends: sendsTwo, conflicts: []string{"third Share remembered"}, owners: []string{"third/Update", "us/Apply"}},
		},
	},
	{
		reason: "sharing: the other one comes to our value", policy: apply.OnConflict(apply.Share), form: theTitle,
		happened: []turn{
			firstShared,
			{reason: "by force, as we co-own the field", happens: appliedBy("other", `{spec: {title: ours}}`), sends: sendsTwo, ours: true, owners: byBoth},
			{reason: "and that is the new steady state", sends: sendsOne, ours: true, owners: byBoth},
		},
	},
	{
		reason: "sharing: a third one shares as well", policy: apply.OnConflict(apply.Share), form: theTitle,
		happened: []turn{
			firstShared,
			{
				reason: "a third applies the same", happens: appliedBy("third", theTitle.Theirs), sends: sendsTwo,
				conflicts: []string{"other Share remembered", "third Share"}, owners: []string{"other/Apply", "third/Apply", "us/Apply"},
			},
			{
				reason: "the other one leaves", happens: appliedBy("other", `{}`), sends: sendsTwo,
				conflicts: []string{"third Share remembered"}, owners: []string{"third/Apply", "us/Apply"},
			},
			{reason: "and the third", happens: appliedBy("third", `{}`), sends: sendsTwo, ours: true, owners: byUs},
		},
	},
	{
		reason: "a typed answer without RecordExchange", policy: byDefault,
		form: kit.BuiltinShapes["scalar"], unrecorded: true,
		happened: []turn{
			firstFound, {reason: "again", sends: sendsTwo, conflicts: gaveWay, owners: byOther},
			{reason: "the other lets go", happens: appliedBy("other", `{}`), sends: sendsTwo, ours: true, owners: byUs},
		},
	},
	{
		reason: "an unstructured answer shows them without RecordExchange", policy: byDefault, form: theTitle, unrecorded: true,
		happened: []turn{firstFound, {reason: "remembered", sends: sendsTwo, conflicts: gaveWay, owners: byOther}},
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
