package check

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize/english"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// summary returns a sentence about all checked objects.
func summary(items []result) string {
	conflicting, conflicts, created, unchanged := 0, 0, 0, 0
	for _, item := range items {
		conflicts += len(item.Conflicts)
		switch {
		case len(item.Conflicts) > 0:
			conflicting++
		case item.Creates:
			created++
		case len(item.Shared)+len(item.Dropped)+len(item.Changes) == 0:
			unchanged++
		}
	}
	return fmt.Sprintf("%s: %s in %s, %d would be created, %d unchanged", english.Plural(len(items), "object", ""),
		english.Plural(conflicts, "conflict", ""), english.Plural(conflicting, "object", ""), created, unchanged)
}

// markdown writes a comment for a pull request: a summary, a table of the conflicts, and the other effects in a part that
// can be opened. failed means that some objects could not be checked.
func (c *command) markdown(items []result, failed bool) {
	fmt.Fprintf(c.Out, "**Server-side apply as %s.** %s.\n", code(c.manager), summary(items))
	if failed {
		fmt.Fprintln(c.Out, "\n**Some objects could not be checked**, or the API server refuses them: see the messages of the command.")
	}
	header := "\n| Object | Field | Owner | Value now | Value in the file |\n|---|---|---|---|---|\n"
	for _, item := range items {
		for _, conflict := range item.Conflicts {
			fmt.Fprintf(c.Out, "%s| %s | %s | %s | %s | %s |\n", header, code(item.ref()), code(cmp.Or(conflict.Path, conflict.ServerPath)),
				code(conflict.Owner.String()), code(short(conflict.Theirs)), code(short(conflict.Ours)))
			header = ""
		}
	}
	fmt.Fprint(c.Out, "\n<details><summary>Other effects</summary>\n\n")
	for _, item := range items {
		var lines []string
		if item.Creates {
			lines = append(lines, "would be created")
		}
		for _, part := range []struct {
			what  string
			lines []string
		}{
			{"becomes shared: ", texts(item.Shared, shared.String)}, {"given up: ", texts(item.Dropped, dropped.String)}, {"changes: ", texts(item.Changes, change.String)},
		} {
			for _, line := range part.lines {
				lines = append(lines, part.what+code(line))
			}
		}
		if len(lines) > 0 {
			fmt.Fprintf(c.Out, "- %s\n  - %s\n", code(item.ref()), strings.Join(lines, "\n  - "))
		}
	}
	fmt.Fprint(c.Out, "\n</details>\n")
}

func (r result) ref() string {
	return view.Ref{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}.String()
}

// code returns a text as code in a table of Markdown. A backtick or bar of the text cannot end the code or the cell.
func code(text string) string {
	text = strings.NewReplacer("`", "'", "|", `\|`).Replace(view.Visible(strings.Join(strings.Fields(text), " ")))
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
