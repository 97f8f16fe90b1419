package predict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"coapply.dev/fieldowners"
)

// Apply predicts a Server-Side Apply of an intent (an apply configuration) by a field manager
// to the live object: what would conflict, and what a forced apply would do. live is nil if the
// object does not exist. Both are unstructured and in one apiVersion. live must have its
// managed fields; otherwise the error is ErrNoManagedFields. subresource is that of the
// request, "" or "status".
//
// The rules are those of KEP-555, by the API server's own structured-merge-diff, with types
// derived from the managed fields and from what all kinds have in common. What these leave open
// is a Doubt. Everything else in the Prediction is certain, with these limits:
//
//   - Whether the server accepts the intent at all (validation, admission, a uid or
//     resourceVersion in it) is not predicted, nor the defaults that it fills in.
//   - An empty map or list, or a null, is in Changes as the intent has it; the server stores it
//     or leaves it out.
//   - Texts are compared as they are, as the server does: a quantity of "1000m"
//     against a live "1" is a conflict.
//   - Managed fields are trusted. A list that has an owner, and no item of which has one, is
//     taken for one field, though it looks the same after somebody edited managed fields by
//     hand. Manager names are not authenticated.
//
// The error is about objects that cannot be compared, or an intent that the server refuses for
// its form.
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

// Prediction is the result of Apply, each list in the order of paths, then managers. Values of
// Secrets are hidden.
type Prediction struct {
	Creates   bool                 // there is no live object
	Conflicts []Conflict           // an apply without force fails with these, a forced one takes them
	Shared    []fieldowners.Owned  // fields that become ours and stay another manager's, with equal values
	Changes   []fieldowners.Change // values that differ afterwards, without those in Conflicts and Dropped
	Dropped   []Dropped            // fields that we applied before and no longer list
	Unsure    []Doubt              // about these fields, and all below them, the other lists say nothing
}

// Conflict is a field of the intent that another manager owns with another value.
type Conflict struct {
	Path         fieldowners.Path
	Owner        fieldowners.Manager
	Ours, Theirs any // Theirs is nil if the live object lacks the field
}

// String returns the field, both values and the owner on one line.
func (c Conflict) String() string {
	return fmt.Sprintf("%s to %s, owned by %s with %s", c.Path, fieldowners.FormatValue(c.Ours), c.Owner, fieldowners.FormatValue(c.Theirs))
}

// Dropped is a field that its manager gives up by leaving it out.
type Dropped struct {
	Path   fieldowners.Path
	Value  any                   // in the live object
	KeptBy []fieldowners.Manager // who owns it afterwards
	// Removed reports whether the value is removed. If the server has a default for the field,
	// that takes its place.
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

// Doubt is a field for which managed fields do not show what an apply does to it; the root
// means the whole object.
type Doubt struct {
	Path   fieldowners.Path
	Reason string
	// Sharing reports whether only the sharing of the field, or of parts of it, is open: the
	// live value is the intended one, so nothing conflicts, changes or is dropped.
	Sharing bool
}

// String returns the field and the reason on one line.
func (d Doubt) String() string {
	return cmp.Or(d.Path.String(), "the object itself") + ": " + d.Reason
}

// IsEmpty reports whether an apply would certainly change no value, share no field anew and
// drop nothing. It is meaningless if Apply returned an error.
func (p Prediction) IsEmpty() bool {
	return !p.Creates && len(p.Conflicts)+len(p.Shared)+len(p.Changes)+len(p.Dropped)+len(p.Unsure) == 0
}

// String returns a line for each field, under headings; "nothing changes" if the prediction is
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
