// Package page writes the field ownership of objects, or the report of an audit, as one
// self-contained HTML page, for example for a review.
//
// The package has no side effects. A page loads nothing from the network and runs no script; its
// Content-Security-Policy enforces both. Names and values come from objects that anybody may have
// written, so html/template escapes all of them.
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

// About contains the metadata of a page, such as the version of the plugin and the source of the objects.
type About struct {
	Version        string    // the version of the plugin
	Time           time.Time // when the page was made
	Source         string    // the cluster or the files from which the objects were read
	Files          bool      // the objects were read from files, not from a cluster
	Narrowed       string    // the flags that restrict what the page shows; empty if it shows everything
	ObjectsLeftOut int       // the number of objects left out because the page would be too long
	Incomplete     error     // why some objects are missing; nil if all were read
}

// head is the data for the top of every page. Kicker is the short line of text above the title.
type head struct {
	About

	Kicker, Title string
}

// Stamp returns a time as text, in UTC.
func (About) Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Age returns the age of time t when the page was made, as text such as 5m.
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
	//go:embed trace.html
	tracePage string
)

var (
	objectsTemplate = parse(objectsPage)
	auditTemplate   = parse(auditPage)
	traceTemplate   = parse(tracePage)
)

// parse returns the template of a page: content within the frame page.html. The style sheet is a
// constant part of the template, and the Content-Security-Policy allows no other style sheet.
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

// highlights returns the CSS rules that highlight the lines of a manager while the manager's row in the legend is
// hovered, focused or ticked. The :has selectors match only within the legend, because matching the whole object
// would slow down the browser.
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

// maxLine is the length in characters to which lines are truncated. Some annotations have a whole
// object as their value.
const maxLine = 1000

// cut truncates a line to maxLine characters, and appends the number of removed characters.
func cut(text string) string {
	runes := []rune(text)
	if len(runes) <= maxLine {
		return text
	}
	return fmt.Sprintf("%s… (%s more characters)", string(runes[:maxLine]), count(len(runes)-maxLine))
}

// safe returns a name as one printable line of limited length. If the name has unprintable characters,
// the result is in quotes.
func safe(text string) string { return cut(view.Safe(text)) }

// text returns a sentence as printable text of limited length. Unlike safe, it adds no quotes.
func text(said string) string { return cut(view.Visible(said)) }

// count returns a number with separators for thousands: 12,345.
func count(n int) string { return humanize.Comma(int64(n)) }

// plural returns a number with a noun in its singular or plural: 1 field, 2 fields.
func plural(n int, noun string) string { return count(n) + " " + english.PluralWord(n, noun, "") }

// NewAbout returns the metadata of a page that is created now. The given error is the reason why objects are missing,
// or nil.
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

// clusterOf returns a text for About.Source: the kubeconfig's context and the namespace.
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

// narrowing lists the flags that restrict the fields or objects on a page.
var narrowing = []string{"object", "path", "manager", "operation", "shared", "unowned", "selector", "field-selector"}

// narrowed returns the flags on the command line that restrict the page, as text for About.Narrowed.
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
