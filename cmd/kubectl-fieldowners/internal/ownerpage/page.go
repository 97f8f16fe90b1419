package ownerpage

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// About is what a page says about itself.
type About struct {
	Version  string    // of the plugin
	Time     time.Time // of the page
	Source   string    // where the objects were read
	Files    bool      // they were read from files, and not from a cluster
	Narrowed string    // what of them was asked for; empty is everything
	// ObjectsLeftOut is how many objects the page has no room for.
	ObjectsLeftOut int
	// Incomplete says why not everything that was asked for could be read.
	Incomplete error
}

// head is what stands above every page.
type head struct {
	About

	Kicker, Title string
}

// Stamp returns a time of the page without an ambiguous zone.
func (About) Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Age returns how long before the page was made something was.
func (a About) Age(t time.Time) string { return ownerview.Age(t, a.Time) }

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
		"safe": safe, "text": text, "count": count, "of": plural, "maxLines": func() int { return MaxLines },
	}).Parse(whole)).Parse(content))
}

// highlights are the rules by which a manager that is pointed at, focused or ticked in
// the legend stands out among the lines. They look into the legend only: over the
// whole object a browser would be slow at it.
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

func write(w io.Writer, page *template.Template, data any) error { return page.Execute(w, data) }
