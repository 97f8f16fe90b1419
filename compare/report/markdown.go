package report

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"coapply.dev/compare/results"
)

const alignRight = text.AlignRight

// Markdown gives the report in short, for a pull request. The same data gives the same bytes.
func Markdown(run results.Run, trials []results.Trial, r results.Results) ([]byte, error) {
	b := newBuilder(run, trials, r)
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\n", plain(b.title()))
	for _, f := range b.facts() {
		fmt.Fprintf(&out, "- %s: %s\n", f.Name, plain(f.Text))
	}
	for _, a := range b.alerts() {
		fmt.Fprintf(&out, "\n> **%s** %s\n", plain(a.Head), plain(a.Text))
	}
	out.WriteString("\n## Verdict\n\n")
	if len(r.Verdict) == 0 {
		out.WriteString("None: " + na + "\n")
	}
	for i, line := range r.Verdict {
		fmt.Fprintf(&out, "%d. %s\n", i+1, plain(line))
	}
	out.WriteString("\n" + plain(reading) + "\n")
	for _, section := range []struct {
		title string
		table table
	}{
		{"Correctness", b.correctness()},
		{"First violations", b.violations()},
		{"Trials that count for nothing", b.voidTrials()},
		{"Results", b.overview()},
		{"Where Server-Side Apply is behind", b.against()},
		{"Claims", b.claims()},
		{"Hypotheses", b.hypotheses()},
		{"Checks", b.checks()},
	} {
		fmt.Fprintf(&out, "\n## %s\n\n%s", section.title, section.table.markdown())
	}
	fmt.Fprintf(&out, "\n## Reproduce\n\n%s\nSeed %d; it took %s. The method is in docs/benchmarking.md, the raw data beside this file.\n",
		fenced(either(run.Command)), run.Seed, b.ended())
	return visible([]byte(out.String())), nil
}

// reading explains what the tables take for granted.
const reading = "ssa is plain Server-Side Apply, apply is coapply's; gmu is get-modify-update, and what follows says how it retries. " +
	"hot-object w16 m4 is that workload with 16 writers under 4 field managers; further, o is objects, rtt an added round trip. " +
	"In brackets: 95 % interval. A p99 of never falls among intents that were given up. Glossary, arms and charts are in report.html."

// plain is text on one line that Markdown takes for text: what opens an element, a link or code does not.
func plain(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.NewReplacer("<", "&lt;", "`", "'", "*", `\*`, "](", `]\(`, "_", `\_`).Replace(text)
}

// fenced is a block of code. No line of it can end the block.
func fenced(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}
