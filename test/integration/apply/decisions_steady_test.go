package apply

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// What an apply costs, as the server sees it.
const (
	sendsOne   = "PATCH 200"                     // the whole intent
	sendsTwo   = "GET 200, PATCH 200"            // as the last apply gave way: the read, and what is left
	asksAgain  = "GET 200, PATCH 409, PATCH 200" // the same in a list: only the schema tells what its items are, and there is none here
	sendsThree = "PATCH 409, GET 200, PATCH 200" // the conflict, the read, what is left
)

// turn is one reconcile, after something happened to the object.
type turn struct {
	reason    string
	happens   func(s *kit.Stage, form kit.Shape)
	sends     string   // to the server
	conflicts []string // manager, decision and whether it was remembered
	ours      bool     // the field has our value afterwards, else another's
	owners    []string // of the field, afterwards
	refused   error
	restart   bool // with an applier that remembers nothing
}

// play reconciles turn after turn.
func play(t *testing.T, form kit.Shape, config apply.Config, recorded bool, turns []turn) {
	t.Helper()
	kit.ShapeClient(t)
	c, watch := watchedClient(t, recorded)
	s := kit.NewStage(t, c, kit.NewNamespace(t, c), form.Kind, form.Subresource)
	s.Apply("other", form.Theirs)
	config.FieldManager, config.LiveReader = "us", c
	applier, err := apply.New(c, config)
	s.Must(err)
	for i, turn := range turns {
		if turn.happens != nil {
			turn.happens(s, form)
		}
		if turn.restart {
			applier, err = apply.New(c, config)
			s.Must(err)
		}
		watch.take()
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: s.Config(form.Ours), Subresource: form.Subresource})
		sent := watch.take()
		if !errors.Is(err, turn.refused) {
			t.Fatalf("turn %d, %s: %v, want %v", i, turn.reason, err, turn.refused)
		}
		checkTurn(t, s, form, i, turn, outcome, sent)
	}
}

func checkTurn(t *testing.T, s *kit.Stage, form kit.Shape, i int, want turn, outcome apply.Outcome, sent string) {
	t.Helper()
	if sent != want.sends || outcome.Requests != strings.Count(sent, ",")+1 {
		t.Errorf("turn %d, %s: sent %s, want %s; the outcome says %d requests", i, want.reason, sent, want.sends, outcome.Requests)
	}
	quiet := i > 0 && want.happens == nil && !want.restart && want.refused == nil
	if (outcome.Action == apply.Unchanged) != quiet {
		t.Errorf("turn %d, %s: %s, though something happened: %v", i, want.reason, outcome.Action, !quiet)
	}
	var found []string
	for _, c := range outcome.Conflicts {
		text := c.Manager.Name + " " + c.Decision.String()
		if c.Remembered {
			text += " remembered"
		}
		outdated := c.Decision != apply.Force && !valuesEqual(c.Theirs, s.Value(form.Path))
		if c.Path.String() != form.Path || !valuesEqual(c.Ours, form.Want) || outdated {
			t.Errorf("turn %d, %s: %v, and the live value is %v", i, want.reason, c, s.Value(form.Path))
		}
		found = append(found, text)
	}
	if !slices.Equal(found, want.conflicts) {
		t.Errorf("turn %d, %s: conflicts %q, want %q", i, want.reason, found, want.conflicts)
	}
	if live := s.Value(form.Path); valuesEqual(live, form.Want) != want.ours {
		t.Errorf("turn %d, %s: the value is %v; ours is %v, want ours: %v", i, want.reason, live, form.Want, want.ours)
	}
	owners := slices.Clone(want.owners)
	for i := range owners {
		owners[i] = ownerThrough(owners[i], form.Subresource)
	}
	if got := s.Owners(form.Path); !slices.Equal(got, owners) {
		t.Errorf("turn %d, %s: owned by %q, want %q", i, want.reason, got, owners)
	}
}

func valuesEqual(a, b any) bool { return text(a) == text(b) }

// steadyForms are forms of all sorts: a scalar of a typed kind, an item that goes
// altogether, an atomic map, a key with dots, a status.
var steadyForms = map[string]kit.Shape{
	"scalar":     kit.BuiltinShapes["scalar"],
	"port":       kit.BuiltinShapes["defaulted key"],
	"item":       kit.CRDShapes["map in a custom item"],
	"atomic map": kit.BuiltinShapes["atomic map"],
	"key":        kit.FreeKeyShape(`a.b/"c"`),
	"status":     kit.CRDShapes["custom status"],
	"condition":  kit.CRDShapes["custom condition"],
}

func TestSteadyState(t *testing.T) {
	for name, form := range steadyForms {
		for decision, owners := range map[apply.Decision][]string{
			apply.Relinquish: {"other/Apply"},
			apply.Share:      {"other/Apply", "us/Apply"},
		} {
			t.Run(name+"/"+decision.String(), func(t *testing.T) {
				t.Parallel()
				again := turn{
					reason: "the object shows it", sends: sendsTwo,
					conflicts: []string{"other " + decision.String() + " remembered"}, owners: owners,
				}
				switch name {
				case "port", "item", "condition", "atomic map":
					again.sends = asksAgain
				}
				restarted := turn{
					reason: "a new process sends the whole intent", restart: true, sends: sendsThree,
					conflicts: []string{"other " + decision.String()}, owners: owners,
				}
				first := restarted
				first.reason, first.restart = "the conflict is found", false
				play(t, form, apply.Config{Policy: apply.OnConflict(decision)}, true,
					[]turn{first, again, again, again, restarted, again})
			})
		}
	}
}

// letsGo are ways in which the other owner gives the field up.
var letsGo = map[string]func(s *kit.Stage, form kit.Shape){
	"applies without it": func(s *kit.Stage, _ kit.Shape) { s.Apply("other", `{}`) },
	"is updated away": func(s *kit.Stage, form kit.Shape) {
		object := s.Live()
		fieldowners.MustParsePath(form.Path).Cut(object.Object, nil)
		s.Put("third", object)
	},
}

func TestFieldIsOursWhenTheOtherLetsGo(t *testing.T) {
	forms := maps.Clone(steadyForms)
	forms["scalar"] = kit.CRDShapes["custom scalar"] // without replicas, whoever updated owns the default
	delete(forms, "condition")                       // its status is required: nobody can take it away
	for name, form := range forms {
		for way, happens := range letsGo {
			for _, decision := range []apply.Decision{apply.Relinquish, apply.Share} {
				t.Run(name+"/"+way+"/"+decision.String(), func(t *testing.T) {
					t.Parallel()
					owners := map[apply.Decision][]string{apply.Relinquish: {"other/Apply"}, apply.Share: {"other/Apply", "us/Apply"}}[decision]
					play(t, form, apply.Config{Policy: apply.OnConflict(decision)}, true, []turn{
						{reason: "the conflict is found", sends: sendsThree, conflicts: []string{"other " + decision.String()}, owners: owners},
						{reason: "the other lets go", happens: happens, sends: sendsTwo, ours: true, owners: []string{"us/Apply"}},
						{reason: "nothing is left to remember", sends: sendsOne, ours: true, owners: []string{"us/Apply"}},
					})
				})
			}
		}
	}
}
