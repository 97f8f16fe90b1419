package apply

import (
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
)

// at is a conflict on a field whose path is known.
func at(path string) Conflict {
	return Conflict{Path: fieldowners.MustParsePath(path), ServerPath: fieldowners.MustParsePath(path).ServerString()}
}

func TestPolicyDecides(t *testing.T) {
	const container = `.spec.template.spec.containers[name="web"]`
	policy := OnConflict(Reject).
		At(".spec", Force).
		At(".spec.template", Reject).
		At(container, Force).
		At(container+`.ports[containerPort=80,protocol="TCP"]`, Reject).
		At(`.metadata.annotations["a.b/c"]`, Force).
		At(`.metadata.finalizers[="a/b"]`, Force).
		At(".spec.template.spec", Reject) // the order in which rules are given decides nothing
	for _, test := range []struct {
		path   string
		want   Decision
		reason string
	}{
		{".data", Reject, "no rule holds"},
		{".spec", Force, "the field itself"},
		{".spec.replicas", Force, "a field below"},
		{".specification", Reject, "a name that only begins alike"},
		{".spec.template.metadata", Reject, "the longer rule"},
		{container + ".image", Force, "the longest rule"},
		{`.spec.template.spec.containers[name="web2"].image`, Reject, "another item"},
		{container + `.ports[containerPort=80,protocol="TCP"].name`, Reject, "an item of two keys"},
		{container + `.ports[containerPort=80,protocol="UDP"].name`, Force, "differs in one of two keys"},
		{container + `.ports[containerPort=80].name`, Force, "a key alone is not the item"},
		{`.metadata.annotations["a.b/c"]`, Force, "a key with dots"},
		{`.metadata.annotations.a`, Reject, "not the key with dots"},
		{`.metadata.annotations["a.b/c.d"]`, Reject, "a key that begins alike"},
		{`.metadata.finalizers[="a/b"]`, Force, "a member of a set"},
		{`.metadata.finalizers[="a/c"]`, Reject, "another member"},
	} {
		if got := policy.decide(at(test.path)); got != test.want {
			t.Errorf("%s: %v, want %v: %s", test.path, got, test.want, test.reason)
		}
	}
	if got := (Policy{}).decide(at(".spec")); got != Reject {
		t.Errorf("the zero policy: %v", got)
	}
}

func TestPolicyDecidesByServerPath(t *testing.T) {
	keep := OnConflict(Force).At(`.metadata.annotations.a`, Reject)
	take := OnConflict(Reject).At(`.metadata.annotations["a.b"]`, Force)
	for _, test := range []struct {
		policy     Policy
		serverPath string
		want       Decision
		reason     string
	}{
		{keep, ".metadata.annotations.a", Reject, "the field itself"},
		{keep, ".metadata.annotations.a.b", Reject, `may be the key "a.b" or lie below "a": the rule may hold`},
		{keep, ".metadata.annotations.a[0]", Reject, "may lie below"},
		{keep, ".metadata.annotations.ab", Force, "another name"},
		{keep, ".metadata.annotations", Force, "above, not below"},
		{keep, ".metadata.annotations.b.a", Force, "beside"},
		{OnConflict(Force).Func(func(Conflict) (Decision, bool) { return 9, true }), ".spec", 9, "what is no decision is told"},
		{keep, "", Force, "no field at all"},
		{take, ".metadata.annotations.a.b", Reject, "nothing is forced by a guess"},
		{OnConflict(Force), ".metadata.annotations.a.b", Force, "no rule can differ"},
		{OnConflict(Force).At(".spec", Force), ".spec.replicas", Force, "the rules agree"},
		{Policy{}, ".spec.replicas", Reject, "the zero policy"},
		{OnConflict(Relinquish), ".spec.replicas", Reject, "a field that is not known cannot be left out"},
		{OnConflict(Share), ".spec.replicas", Reject, "nor its value be adopted"},
	} {
		if got := test.policy.decide(Conflict{ServerPath: test.serverPath}); got != test.want {
			t.Errorf("%q: %v, want %v: %s", test.serverPath, got, test.want, test.reason)
		}
	}
}

func TestPolicyIsImmutable(t *testing.T) {
	replicas, image := at(".spec.replicas"), at(".spec.image")
	base := OnConflict(Reject).At(".a", Force).At(".b", Force).At(".c", Force) // with room behind its rules
	first, second := base.At(".spec.replicas", Force), base.At(".spec.image", Force)
	broken := base.At("", Force)
	for name, ok := range map[string]bool{
		"base":   base.decide(replicas) == Reject && base.decide(image) == Reject && base.err == nil,
		"first":  first.decide(replicas) == Force && first.decide(image) == Reject,
		"second": second.decide(replicas) == Reject && second.decide(image) == Force,
		"broken": broken.err != nil,
	} {
		if !ok {
			t.Errorf("%s was changed", name)
		}
	}
}

func ask(Conflict) (Decision, bool) { return Reject, false }

func refusesNothing(Conflict) error { return nil }

// mapConfig is a configuration without fields.
type mapConfig map[string]string

func (mapConfig) IsApplyConfiguration() {}

func TestNewRefuses(t *testing.T) {
	var c struct{ client.Client } // never called
	valid := Config{FieldManager: "m", LiveReader: c}
	with := func(change func(*Config)) Config {
		config := valid
		change(&config)
		return config
	}
	policy := func(p Policy) Config { return with(func(c *Config) { c.Policy = p }) }
	for name, test := range map[string]struct {
		config Config
		says   []string
	}{
		"nothing":          {Config{}, []string{"FieldManager: a name is needed", "LiveReader: a reader that does not read from a cache"}},
		"long name":        {with(func(c *Config) { c.FieldManager = strings.Repeat("m", 129) }), []string{"FieldManager"}},
		"unprintable name": {with(func(c *Config) { c.FieldManager = "a\nb" }), []string{"FieldManager"}},
		"no live reader":   {with(func(c *Config) { c.LiveReader = nil }), []string{"LiveReader"}},
		"decision":         {policy(OnConflict(7)), []string{"unknown decision 7 for every field"}},
		"decision of rule": {policy(Policy{}.At(".spec", -1)), []string{"unknown decision -1 for .spec"}},
		"empty path":       {policy(Policy{}.At("", Force)), []string{"empty path"}},
		"broken path":      {policy(Policy{}.At("spec", Force)), []string{`path "spec": at offset 0`}},
		"twice":            {policy(Policy{}.At(".spec", Force).At(".spec", Reject)), []string{".spec is given twice"}},
		"same key twice": {policy(Policy{}.At(`.p[a=1,b="x"]`, Force).At(`.p[b="x",a=1]`, Force)),
			[]string{`.p[a=1,b="x"] is given twice`}},
		"empty match":    {policy(Policy{}.When(Match{}, Force)), []string{"an empty path or Match"}},
		"index":          {policy(Policy{}.At(".spec.list[0].x", Force)), []string{".spec.list[0].x identifies a list item by its index"}},
		"never, no path": {policy(Policy{}.Never("spec")), []string{`path "spec": at offset 0`}},
		"never, no path, and a rule of a manager": {policy(Policy{}.When(Match{Manager: "m"}, Force).Never("spec")), []string{`path "spec": at offset 0`}},
		"never, a rule": {policy(Policy{}.At(".spec", Force).Never(".spec")), []string{"every conflict on .spec is rejected (Never), but there is also a rule for this field"}},
		"operation twice": {policy(Policy{}.When(Match{Operation: "Update"}, Force).When(Match{Operation: "Update"}, Share)),
			[]string{"every field of */Update is given twice"}},
		"operation":     {policy(Policy{}.When(Match{Operation: "apply"}, Force)), []string{`unknown operation "apply"`}},
		"manager twice": {policy(Policy{}.When(Match{Manager: "m"}, Force).When(Match{Manager: "m"}, Share)), []string{"every field of m/* is given twice"}},
		"no function":   {policy(Policy{}.Func(nil)), []string{"Func(nil): a function is needed"}},
		"two functions": {policy(Policy{}.Func(ask).Func(ask)), []string{"Func was called twice"}},
		"no question":   {policy(Policy{}.ForceUnless(nil)), []string{"ForceUnless(nil): a function is needed"}},
		"two questions": {policy(Policy{}.ForceUnless(refusesNothing).ForceUnless(refusesNothing)), []string{"ForceUnless was called twice"}},
		"all of it":     {policy(Policy{}.At("", Force).At("x", Force)), []string{"empty path", `path "x"`}},
	} {
		t.Run(name, func(t *testing.T) {
			applier, err := New(c, test.config)
			if applier != nil || err == nil {
				t.Fatal("accepted")
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v; want it to say %q", err, want)
				}
			}
		})
	}
	if _, err := New(nil, valid); err == nil {
		t.Error("no client was accepted")
	}
	parse := (*fieldowners.PathError)(nil)
	if _, err := New(c, policy(Policy{}.At(".a[", Force))); !errors.As(err, &parse) {
		t.Errorf("%v is no PathError", err)
	}
	for _, config := range []Config{
		policy(OnConflict(Force).When(Match{Operation: "Apply"}, Force).When(Match{Operation: "Update"}, Force)),
		policy(OnConflict(Force).When(Match{Manager: "a"}, Force).When(Match{Manager: "b"}, Force)),
		policy(OnConflict(Force).At(".spec", Force).Never(".status")),
	} {
		if _, err := New(c, config); err != nil {
			t.Error(err)
		}
	}
	applier, err := New(c, valid)
	if err != nil || applier.FieldManager() != "m" {
		t.Errorf("a valid configuration: %v", err)
	}
}

// TestNever: a field that no policy decides about is not taken by a function either, and a
// rule for it is an error.
func TestNever(t *testing.T) {
	forces := func(Conflict) (Decision, bool) { return Force, true }
	policy := OnConflict(Force).Func(forces).Never(".spec.replicas")
	for server, want := range map[string]bool{".spec.replicas": false, ".spec.paused": true} {
		conflict := Conflict{Path: fieldowners.MustParsePath(server), ServerPath: server}
		if got := policy.decide(conflict) == Force; got != want {
			t.Errorf("%s is forced: %v", server, got)
		}
	}
	dotted := OnConflict(Force).Func(forces).Never(`.metadata.labels["a.b"]`)
	if dotted.decide(at(`.metadata.labels.a.b`)) == Force {
		t.Error("a field that the server names as one that is never forced is forced")
	}
	if got := OnConflict(Force).Never(".spec").decide(Conflict{Path: fieldowners.MustParsePath(".spec"), ServerPath: ".spec"}) == Force; got {
		t.Error("without a function it is forced")
	}
	if got := OnConflict(Force).Never(".spec.replicas").decide(at(".spec.paused")) == Force; !got {
		t.Error("without a function another field is not forced")
	}
	if got := Decision(7).String(); got != "Decision(7)" {
		t.Error(got)
	}
	ruled := OnConflict(Reject).At(".spec.replicas", Force).Never(".spec.replicas")
	if err := ruled.err; err == nil || !strings.Contains(err.Error(), ".spec.replicas") {
		t.Errorf("a rule for it: %v", err)
	}
}
