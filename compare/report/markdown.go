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

var special = regexp.MustCompile("`[A-Za-z0-9 ._-]+`|[<>|\\[\\]*_\\\\#&`]")

// plain escapes a text so that Markdown shows it unchanged. Names in backticks remain code.
func plain(text string) string {
	text = strings.Join(strings.Fields(cut(text)), " ")
	return special.ReplaceAllStringFunc(text, func(found string) string {
		if len(found) > 1 {
			return found
		}
		return `\` + found
	})
}
