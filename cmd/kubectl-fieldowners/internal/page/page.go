// Package page writes the ownership of objects, or an audit, as one self-contained HTML
// page, for example for a review.
//
// It is pure: data in, text out. A page needs no network and runs no script, which its
// Content-Security-Policy enforces. Names and values come from objects that anybody may
// have written, so they pass through html/template only, as text.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// About is what a page says about itself.
type About struct {
	Version  string    // of the plugin
	Time     time.Time // of the page
	Source   string    // where the objects were read
	Files    bool      // they were read from files, and not from a cluster
	Narrowed string    // the flags that narrow what is shown; empty for everything
	// ObjectsLeftOut is how many objects the page has no room for.
	ObjectsLeftOut int
	// Incomplete is why not everything that was asked for could be read; nil if it could.
	Incomplete error
}

// head is the top of every page.
type head struct {
	About

	Kicker, Title string
}

// Stamp returns a time of the page without an ambiguous zone.
func (About) Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Age returns how long a time was before the page was made.
func (a About) Age(t time.Time) string { return view.Age(t, a.Time) }

var (
	//go:embed page.css
	css string
	//go:embed page.html
	frame string
	//go:embed objects.html
	objectsPage string
	//go:embed audit.html
	auditPage string
)

var (
	objectsTemplate = parse(objectsPage)
	auditTemplate   = parse(auditPage)
)

// parse puts the content of a page into the frame. The style is part of the template,
// as nothing in it depends on data, and the policy allows nothing but it.
func parse(content string) *template.Template {
	style := strings.Join(strings.Fields(css+highlights()), " ")
	hash := sha256.Sum256([]byte(style))
	whole := strings.NewReplacer(
		"STYLE", style,
		"POLICY", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'; form-action 'none'; base-uri 'none'",
	).Replace(frame)
	return template.Must(template.Must(template.New("page").Funcs(template.FuncMap{
		"safe": safe, "text": text, "count": count, "of": plural,
		"maxLines": func() int { return MaxLines }, "maxRows": func() int { return maxRows },
		"more": func(all, shown int) int { return max(0, all-shown) },
	}).Parse(whole)).Parse(content))
}

// highlights returns the style rules that highlight the lines of a manager that is pointed at,
// focused or ticked in the legend. Their selectors look only at the legend, as a browser would
// be slow with the whole object.
func highlights() string {
	var rules strings.Builder
	classes := []string{"none", "many"}
	for i := range maxHighlighted {
		classes = append(classes, fmt.Sprint(i))
	}
	for _, class := range classes {
		fmt.Fprintf(&rules, ".managers:has(.m-%s:is(:hover,:focus-within),.m-%s :checked)~.yaml .o-%s{--dim:1;--lit:var(--mark)}\n", class, class, class)
	}
	return rules.String()
}

// maxLine is the length to which lines are cut. The values of some annotations are whole
// objects.
const maxLine = 1000

// cut returns a line without an end that is too long, and with a note about it.
func cut(text string) string {
	runes := []rune(text)
	if len(runes) <= maxLine {
		return text
	}
	return fmt.Sprintf("%s… (%s more characters)", string(runes[:maxLine]), count(len(runes)-maxLine))
}

// safe returns a name of any length and with any characters as text for one line.
func safe(text string) string { return cut(view.Safe(text)) }

// text is safe for a sentence: it adds no quotes.
func text(said string) string { return cut(view.Visible(said)) }

// count returns a number for people: 12,345.
func count(n int) string { return humanize.Comma(int64(n)) }

// plural returns a number with a noun: 1 field, 2 fields.
func plural(n int, noun string) string { return count(n) + " " + english.PluralWord(n, noun, "") }

// NewAbout returns what a page says about itself: when it was made, by which version, and of what.
func NewAbout(r *objects.Reader, cmd *cobra.Command, from objects.Source, incomplete error) About {
	about := About{
		Version: console.Version(), Time: time.Now(), Narrowed: narrowed(cmd), Incomplete: incomplete, Files: len(from.Files) > 0,
	}
	if !about.Files {
		about.Source = clusterOf(r, from)
		return about
	}
	names := slices.Clone(from.Files)
	for i := range names {
		if names[i] == "-" {
			names[i] = "stdin"
		}
	}
	about.Source = strings.Join(names, ", ")
	return about
}

// clusterOf returns the name of the cluster in the kubeconfig, and the namespace.
func clusterOf(r *objects.Reader, from objects.Source) string {
	text := "cluster"
	context := *r.Config.Context
	if raw, err := r.Config.ToRawKubeConfigLoader().RawConfig(); err == nil && context == "" {
		context = raw.CurrentContext
	}
	if context != "" {
		text += " of the context " + context
	}
	if from.AllNamespaces {
		return text + ", all namespaces"
	}
	if namespace, _, err := r.Namespace(); err == nil {
		text += ", namespace " + namespace
	}
	return text
}

// narrowing are the flags that leave out fields or objects.
var narrowing = []string{"path", "manager", "operation", "shared", "unowned", "selector", "field-selector"}

// narrowed returns the narrowing flags of the command line, to write them on the page.
func narrowed(cmd *cobra.Command) string {
	var given []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(narrowing, flag.Name) {
			return
		}
		text := "--" + flag.Name
		if flag.Value.Type() != "bool" {
			text += "=" + strings.Trim(flag.Value.String(), "[]")
		}
		given = append(given, text)
	})
	return strings.Join(given, " ")
}
