package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"coapply.dev/compare/results"
	"coapply.dev/compare/summary"
)

//go:embed page.md.tmpl
var pageMarkdown string

var markdownTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"plain": plain}).Parse(pageMarkdown))

// Markdown returns the report of a run as Markdown.
func Markdown(run results.Run, s summary.Summary) ([]byte, error) {
	var out bytes.Buffer
	if err := markdownTemplate.Execute(&out, newPage(run, s)); err != nil {
		return nil, fmt.Errorf("executing the template of the report: %w", err)
	}
	return visible(out.Bytes()), nil
}

var (
	special = regexp.MustCompile("[<>|\\[\\]*_\\\\#&`]")
	code    = regexp.MustCompile("`[A-Za-z0-9 ._-]+`")
)

// plain escapes a text so that Markdown shows it unchanged. Names in backticks remain code.
func plain(text string) string {
	text = strings.Join(strings.Fields(cut(text)), " ")
	var out strings.Builder
	at := 0
	for _, span := range code.FindAllStringIndex(text, -1) {
		out.WriteString(special.ReplaceAllString(text[at:span[0]], `\$0`))
		out.WriteString(text[span[0]:span[1]])
		at = span[1]
	}
	out.WriteString(special.ReplaceAllString(text[at:], `\$0`))
	return out.String()
}
