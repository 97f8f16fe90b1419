package predict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"coapply.dev/fieldowners"
)

// Apply predicts what a Server-Side Apply of an intent (an apply configuration) by a
// field manager would meet on the live object: what would conflict, and what a
// forced apply would do. live may be nil: then it creates. Both are unstructured,
// in one apiVersion, and live has its managed fields; ErrNoManagedFields if not.
// subresource is that of the request, "" or "status".
//
// The rules are those of KEP-555, carried out by the API server's own
// structured-merge-diff; what they need of types is learned from the managed fields
// themselves and from what all kinds have in common. Where those leave open what
// would happen, that is a Doubt: everything else in the Prediction is meant for
// certain, with these limits:
//
//   - Whether the server accepts the intent at all (validation, admission, a uid or
//     resourceVersion in it) is not told, nor the defaults that it fills in.
//   - Of a map or list without content, or a null, the change is told as the intent
//     has it; the server stores it or leaves it out.
//   - Texts are compared as they are, as the server does: a quantity of "1000m"
//     against a live "1" is a conflict.
//   - What managed fields say is believed. A list that has an owner, and of whose
//     items none has, is taken for one field: it may look so as well when somebody
//     deleted managed fields by hand. Manager names are not authenticated.
//
// An error is told for what cannot be compared, or what the server refuses by form.
func Apply(live, intent map[string]any, manager, subresource string) (Prediction, error) {
	q, err := newQuestion(live, intent, manager, subresource)
	if err != nil {
		return Prediction{}, err
	}
	p, err := q.try(true)
	if err != nil {
		return Prediction{}, err
	}
	other, err := q.try(false)
	if err != nil {
		return Prediction{}, err
	}
	emptied, err := q.doubtEmptyLists(p.Prediction, other.Prediction)
	if err != nil {
		return Prediction{}, err
	}
	p.without(slices.Concat(q.doubtReadings(p.Prediction, other.Prediction), q.doubtLists(), emptied, q.doubtVersions(p), q.doubtEntries(),
		q.doubtSubresource(), q.doubtPruning(p.after), q.doubtKubectl(p.Prediction), q.doubtStringData()))
	if q.isSecret() {
		p.conceal()
	}
	return p.Prediction, nil
}

// Prediction is what Apply found, each list in the order of paths, then managers.
// What a Secret keeps secret is hidden in it.
type Prediction struct {
	Creates   bool                 // there is no live object
	Conflicts []Conflict           // an apply without force fails with these, a forced one takes them
	Shared    []fieldowners.Owned  // fields that become ours and stay another manager's: equal values
	Changes   []fieldowners.Change // values that differ afterwards, without those of conflicts and of what is dropped
	Dropped   []Dropped            // fields that we applied before and no longer list
	Unsure    []Doubt              // of what stands here and below, nothing is said above
}

// Conflict is a field of the intent that another manager owns with another value.
type Conflict struct {
	Path         fieldowners.Path
	Owner        fieldowners.Manager
	Ours, Theirs any // Theirs is nil where the live object lacks the field
}

// String returns the field, both values and the owner on one line.
func (c Conflict) String() string {
	return fmt.Sprintf("%s to %s, owned by %s with %s", c.Path, fieldowners.FormatValue(c.Ours), c.Owner, fieldowners.FormatValue(c.Theirs))
}

// Dropped is a field that its manager gives up by leaving it out.
type Dropped struct {
	Path   fieldowners.Path
	Value  any                   // as it is live
	KeptBy []fieldowners.Manager // who owns it afterwards
	// Removed: the value goes. A server that has a default for the field puts that in
	// its place.
	Removed bool
}

// String returns the field and what becomes of it on one line.
func (d Dropped) String() string {
	switch {
	case d.Removed:
		return fmt.Sprintf("%s goes with its value %s", d.Path, fieldowners.FormatValue(d.Value))
	case len(d.KeptBy) == 0:
		return d.Path.String() + " is owned by nobody then"
	}
	var names []string
	for _, owner := range d.KeptBy {
		names = append(names, owner.String())
	}
	return fmt.Sprintf("%s stays, owned by %s", d.Path, strings.Join(names, ", "))
}

// Doubt is a field of which managed fields do not tell what an apply does to it; the
// root stands for the whole object.
type Doubt struct {
	Path   fieldowners.Path
	Reason string
	// Sharing reports that no more is open than who shares the field, or parts of it: the
	// live value is the intended one, so that nothing conflicts, changes or is dropped.
	Sharing bool
}

// String returns the field and the reason on one line.
func (d Doubt) String() string {
	return cmp.Or(d.Path.String(), "the object itself") + ": " + d.Reason
}

// IsEmpty reports whether an apply would change no value, gain no co-owner and drop
// nothing, for certain. It means so only where Apply gave no error.
func (p Prediction) IsEmpty() bool {
	return !p.Creates && len(p.Conflicts)+len(p.Shared)+len(p.Changes)+len(p.Dropped)+len(p.Unsure) == 0
}

// String returns a line for each finding under what it is; "nothing changes" when
// empty.
func (p Prediction) String() string {
	if p.IsEmpty() {
		return "nothing changes\n"
	}
	var b strings.Builder
	if p.Creates {
		b.WriteString("the object is created\n")
	}
	section := ""
	for _, f := range p.statements() {
		if f.section != section {
			section = f.section
			b.WriteString(section + ":\n")
		}
		b.WriteString("  " + f.text + "\n")
	}
	for i, d := range p.Unsure {
		if i == 0 {
			b.WriteString("unsure:\n")
		}
		b.WriteString("  " + d.String() + "\n")
	}
	return b.String()
}
