package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

const (
	columns  = 80 // the maximum width of a line
	indented = 4  // the indentation of text below a heading
)

// String returns the explanation as text. Its lines have at most 80 columns, unless one word, such
// as a path, is longer. The text has no control characters that could control a terminal.
func (e Explanation) String() string {
	var b strings.Builder
	b.WriteString(english.Plural(len(e.Conflicts), "conflict", ""))
	if known := e.Subject.String(); known != "" {
		b.WriteString(" on " + known)
	}
	b.WriteByte('\n')
	for _, c := range e.Conflicts {
		b.WriteString(c.text())
	}
	fmt.Fprintf(&b, "\nFirst, look at the current owners\n%s", wrapped(commandParts(e.Look), indented, ` \`))
	for i, way := range e.Ways {
		fmt.Fprintf(&b, "\n%d. %s\n%s", i+1, way.Title, wrapped(strings.Fields(way.Why), indented-1, ""))
		if way.Command != "" {
			b.WriteString(wrapped(commandParts(way.Command), indented+2, ` \`))
		}
		for line := range strings.Lines(way.Go) {
			text := strings.TrimLeft(line, "\t")
			b.WriteString(strings.Repeat(" ", indented+2+2*(len(line)-len(text))) + text)
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n" + wrapped(strings.Fields(e.legend()), 0, ""))
	return view.Visible(b.String())
}

func (e Explanation) legend() string {
	unknown := func(c Conflict) bool { return c.Path.IsRoot() }
	if slices.ContainsFunc(e.Conflicts, unknown) {
		return legend + " Where only the API server's own string for a field is known, a policy names the owner instead; " +
			"to find the field, give the live object or the applied file."
	}
	return legend
}

const legend = "MANAGER is the field manager of the failed apply (kubectl if none was named), and FILE is the applied file. " +
	"The Go expressions are policies of coapply.dev/apply."

func (c Conflict) text() string {
	text := fmt.Sprintf("  %s\n    owner  %s\n", cmp.Or(c.Path.String(), c.ServerPath), c.Owner)
	if c.Theirs != nil {
		text += "    live   " + view.CutOff(fieldowners.FormatValue(*c.Theirs), columns-11) + "\n"
	}
	if c.Ours != nil {
		text += "    yours  " + view.CutOff(fieldowners.FormatValue(*c.Ours), columns-11) + "\n"
	}
	return text
}

// wrapped joins words into lines of at most 80 columns, indented by indent spaces. continued is the suffix of every
// line except the last, such as a backslash. The lines after the first are indented further by the length of continued.
func wrapped(words []string, indent int, continued string) string {
	margin := strings.Repeat(" ", indent)
	return view.Words(words, columns, margin, margin+strings.Repeat(" ", len(continued)), continued) + "\n"
}

// commandParts splits a command line into parts that may be printed on separate lines. Each flag begins a new part. The
// text after the first quote is not split.
func commandParts(command string) []string {
	head, quoted, found := strings.Cut(command, "'")
	parts := strings.Split(strings.ReplaceAll(head, " -", "\x00-"), "\x00")
	if found {
		parts[len(parts)-1] += "'" + quoted
	}
	return parts
}
