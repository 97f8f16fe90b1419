package main

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
	"coapply.dev/fieldowners"
)

// show prints what goes and what stays, then what is not to be missed, on stderr.
func (r *releaseCommand) show(looked lookedAt) {
	if len(looked.parts) == 0 {
		fmt.Fprintln(r.Out, ownerview.Safe(fmt.Sprintf("%v: nothing to give up: %s applied nothing here", looked.object, r.manager)))
	}
	for _, part := range looked.parts {
		r.showPart(looked, part)
		for _, path := range part.missing {
			fmt.Fprintf(r.ErrOut, "warning: %v: %s owns %s, which the object does not have: an undo cannot bring it back\n",
				looked.object, ownerview.Safe(r.manager), ownerview.Safe(path.String()))
		}
	}
	if looked.isAll() {
		fmt.Fprintf(r.ErrOut, "warning: %v: %s is the only recorded owner: at the next apply, that of an undo too, the rest counts as owned by before-first-apply\n",
			looked.object, ownerview.Safe(r.manager))
	}
	if updated := r.ownedByUpdate(looked); updated > 0 {
		fmt.Fprintf(r.ErrOut, "warning: %v: %s of %s by Update stay its own: see migrate --from %[3]s --to %[3]s\n",
			looked.object, fields(updated), ownerview.Safe(r.manager))
	}
}

// line is one field and what becomes of it.
type line struct{ head, tail string }

func (r *releaseCommand) showPart(looked lookedAt, p part) {
	var goes, stays, beside, lost []line
	for _, d := range p.plan.Dropped {
		if d.Stays {
			stays = append(stays, split(d.String(), d.Path))
		} else {
			goes = append(goes, split(d.String(), d.Path))
		}
	}
	for _, c := range p.plan.Changes {
		if !p.isTold(c.Path) {
			beside = append(beside, split(c.String(), c.Path))
		}
	}
	for _, o := range p.plan.Ownership.Lost {
		if o.Manager.Name != r.manager || o.Manager.Operation != metav1.ManagedFieldsOperationApply {
			lost = append(lost, line{o.Path.String() + ":", o.Manager.String()})
		}
	}
	subject := looked.object.String()
	if p.subresource != "" {
		subject += " (" + p.subresource + ")"
	}
	title := fmt.Sprintf("%s: %s to give up, %d to go, %d to stay", subject, fields(len(p.plan.Dropped)), len(goes), len(stays))
	fmt.Fprintln(r.Out, r.Screen(false).Palette.Strong(ownerview.Safe(title)))
	r.section("go from the object", goes)
	r.section("stay", stays)
	r.section("change with them", beside)
	r.section("other managers lose", lost)
}

func (r *releaseCommand) section(heading string, lines []line) {
	if len(lines) > 0 {
		fmt.Fprintln(r.Out, "  "+heading+":")
	}
	for _, l := range lines {
		r.item(l.head, l.tail)
	}
}

// split takes a line of the library apart: the field, and what becomes of it.
func split(text string, path fieldowners.Path) line {
	fate := strings.TrimPrefix(text, path.String()+": ")
	for _, said := range []string{"goes with its value ", "stays, "} { // the heading says so
		fate = strings.TrimPrefix(fate, said)
	}
	return line{path.String() + ":", fate}
}

// isTold reports whether what is given up says that a field changes.
func (p part) isTold(path fieldowners.Path) bool {
	for _, d := range p.plan.Dropped {
		if !d.Stays && (path.HasPrefix(d.Path) || d.Path.HasPrefix(path)) {
			return true
		}
	}
	return false
}

func (r *releaseCommand) ownedByUpdate(looked lookedAt) (count int) {
	var paths []string
	for _, entry := range looked.ownership.Entries() {
		if entry.Name != r.manager || entry.Operation != metav1.ManagedFieldsOperationUpdate {
			continue
		}
		for _, path := range entry.Leaves() {
			paths = append(paths, path.String())
		}
	}
	slices.Sort(paths)
	return len(slices.Compact(paths))
}
