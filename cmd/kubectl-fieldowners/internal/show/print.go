package show

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/page"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// getPrinter prints the objects for the command get. Depending on the output format, it prints each
// object when the object is read, or all objects at the end as one document.
type getPrinter struct {
	*getCommand

	screen     view.Screen
	objects    int             // the number of objects read
	shown      int             // the number of objects with at least one field that the filter selected
	incomplete bool            // at least one object has a field whose owners are not known
	noPath     error           // the error of Object.Find for --path, on the last object with such an error; nil if none
	managers   map[string]bool // the names of the managers of all objects, for a hint about --manager
	items      []view.Item     // the objects for -o json and -o yaml
	rows       [][]string      // the rows of a table; the first two cells of a row are namespace and object
	pages      []page.Shown    // the objects for -o html
	lines      int             // the number of YAML lines for -o html
	leftOut    int             // the number of objects left out because the page would be too long
}

func (g *getCommand) newPrinter() *getPrinter {
	return &getPrinter{
		getCommand: g, screen: g.Screen(g.noHeaders), managers: map[string]bool{},
	}
}

func (p *getPrinter) print(o *view.Object) {
	p.objects++
	if !tell(p.ErrOut, o) {
		p.incomplete = true
	}
	filter := p.filter
	for _, entry := range o.Ownership.Entries() {
		if len(p.managers) <= hinted {
			p.managers[view.Safe(entry.Name)] = true
		}
	}
	paths, noPath := o.Find(p.path)
	if filter.Paths = paths; noPath == nil && p.shows(o, filter) {
		p.shown++
	}
	if noPath != nil { // --path is malformed, but may be the API server's string for a field of another object
		p.noPath = noPath
	}
}

// shows prints the object or stores it for close. It reports whether the filter selected any field of the object.
func (p *getPrinter) shows(o *view.Object, filter view.Filter) bool {
	switch p.output {
	case "tree":
		var text bytes.Buffer
		if !p.screen.Tree(&text, o, filter) {
			return false
		}
		if p.shown > 0 {
			fmt.Fprintln(p.Out, "---")
		}
		fmt.Fprint(p.Out, text.String())
	case "table", "wide":
		rows := p.screen.Rows(o, filter, p.output == "wide")
		for _, row := range rows {
			p.rows = append(p.rows, append([]string{view.Safe(o.Namespace), o.Resource()}, row...))
		}
		return len(rows) > 0
	case "name":
		if len(filter.Fields(o)) == 0 {
			return false
		}
		fmt.Fprintln(p.Out, o.Resource())
	case "html":
		lines, missing := o.Lines(filter)
		if !filter.IsEmpty() && len(lines)+len(missing) == 0 {
			return false
		}
		if p.lines += len(lines) + len(missing); p.lines > page.MaxLines && len(p.pages) > 0 {
			p.leftOut++
			return true
		}
		p.pages = append(p.pages, page.Shown{Object: o, Filter: filter})
	default:
		item := o.Item(filter)
		if filter.IsEmpty() || len(item.Fields) > 0 || len(item.Errors) > 0 || item.ManagedFieldsAbsent {
			p.items = append(p.items, item)
		}
		return len(item.Fields) > 0
	}
	return true
}

// close prints the objects stored by shows, as one document. The given error is the reason why objects are missing,
// or nil.
func (p *getPrinter) close(cmd *cobra.Command, reading error) error {
	switch p.output {
	case "json", "yaml":
		return p.Structured(p.output, view.List[view.Item]{Items: append([]view.Item{}, p.items...)})
	case "table", "wide":
		p.table()
	case "html":
		if reading != nil && p.objects == 0 { // only the error is printed
			return nil
		}
		about := page.NewAbout(p.Reader, cmd, p.Source, reading)
		if about.ObjectsLeftOut = p.leftOut; p.leftOut > 0 {
			fmt.Fprintf(p.ErrOut, "warning: a page has %d lines at most, so %d objects are left out: name fewer objects, or select fields by --path or --manager\n", page.MaxLines, p.leftOut)
		}
		return page.Objects(p.Out, about, p.pages)
	}
	return nil
}

// summary prints a message on stderr if no object or no field was found. It returns an error if some owners are
// unknown or --path is invalid.
func (p *getPrinter) summary() error {
	switch {
	case p.incomplete:
		return console.ErrSaid
	case p.objects == 0:
		fmt.Fprintln(p.ErrOut, "No objects found.")
	case p.shown == 0 && p.noPath != nil:
		return fmt.Errorf("--path: %w", p.noPath)
	case p.shown == 0:
		fmt.Fprintln(p.ErrOut, "No fields found"+p.hint()+".")
	}
	return nil
}

// hint returns text to append to the message "No fields found": the path in --path, or else, with --manager, the names
// of the existing managers, because the name in --manager may be misspelt.
func (p *getPrinter) hint() string {
	switch {
	case p.path != "":
		return " at the path " + view.Safe(p.path)
	case len(p.filter.Managers) > 0 && len(p.managers) > 0:
		names := slices.Sorted(maps.Keys(p.managers))
		more := ""
		if len(names) > hinted {
			names, more = names[:hinted], " and others"
		}
		return ": the managers are " + strings.Join(names, ", ") + more
	}
	return ""
}

// hinted is the largest number of names in a hint.
const hinted = 10

// table prints one table for all objects. It has a column for the objects' names if there are
// several, and a column for their namespaces if these differ.
func (p *getPrinter) table() {
	header, rows, left := append([]string{"NAMESPACE", "OBJECT"}, view.Header(p.output == "wide")...), p.rows, 0
	switch {
	case p.objects <= 1:
		left = 2
	case !slices.ContainsFunc(rows, func(row []string) bool { return row[0] != rows[0][0] }):
		left = 1
	}
	header = header[left:]
	for i := range rows {
		rows[i] = rows[i][left:]
	}
	if len(rows) > 0 {
		p.screen.Table(p.Out, header, rows)
	}
}
