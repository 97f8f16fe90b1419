package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// readFiles reads the objects of files, "-" for stdin: YAML with any number of
// documents, JSON, and Lists, whose items are given one by one. Errors name file and
// line, and quote nothing of what they are about: it may be a Secret.
func (p *plugin) readFiles(paths []string, each func(source string, object map[string]any) error) error {
	return p.readDocuments(paths, func(d document, object map[string]any) error {
		return flatten(fmt.Sprintf("%s, line %d", d.source, d.line), object, each)
	})
}

// document is one of a file.
type document struct {
	source string // the file
	line   int    // of its first line
	text   []byte
}

// readDocuments is readFiles with Lists as they stand.
func (p *plugin) readDocuments(paths []string, each func(d document, object map[string]any) error) error {
	for _, path := range paths {
		source, content, err := p.readFile(path)
		if err != nil {
			return err
		}
		found := 0
		err = documents(content, func(line int, text []byte) error {
			object, err := decode(source, line, text)
			if object == nil || err != nil {
				return err
			}
			select {
			case <-p.done:
				return context.Canceled
			default:
			}
			found++
			return each(document{source, line, text}, object)
		})
		switch {
		case err != nil:
			return err
		case found == 0:
			return fmt.Errorf("%s: no object in it", source)
		}
	}
	return nil
}

func (p *plugin) readFile(path string) (source string, content []byte, err error) {
	if path == "-" {
		if waitingForInput(p.In) {
			fmt.Fprintln(p.ErrOut, "reading objects from the terminal; Ctrl-D ends them")
		}
		content, err = p.readStdin()
		return "stdin", content, err
	}
	content, err = os.ReadFile(path)
	if notThere := (*os.PathError)(nil); errors.As(err, &notThere) {
		return path, nil, fmt.Errorf("%s: %w", path, notThere.Err)
	}
	return path, content, err
}

// readStdin gives up when the command is interrupted. What still reads then ends with
// the process.
func (p *plugin) readStdin() ([]byte, error) {
	type result struct {
		content []byte
		err     error
	}
	read := make(chan result, 1)
	go func() {
		content, err := io.ReadAll(p.In)
		read <- result{content, err}
	}()
	select {
	case r := <-read:
		return r.content, r.err
	case <-p.done:
		return nil, context.Canceled
	}
}

// documents splits YAML at its separators, which no indented text can contain, and
// gives each document with its first line.
func documents(content []byte, each func(line int, text []byte) error) error {
	start := 1
	var current []byte
	line := 0
	for text := range bytes.Lines(content) {
		line++
		if rest, is := separator(text); is {
			if err := each(start, current); err != nil {
				return err
			}
			current, start = nil, line+1
			if content := bytes.TrimSpace(rest); len(content) > 0 && content[0] != '#' {
				current, start = slices.Clone(rest), line
			}
			continue
		}
		current = append(current, text...)
	}
	return each(start, current)
}

// separator tells whether a document begins on the line, and gives what of it stands
// there, with the line break.
func separator(text []byte) (rest []byte, is bool) {
	rest, is = bytes.CutPrefix(text, []byte("---"))
	if !is || len(rest) > 0 && !bytes.ContainsRune([]byte(" \t\r\n"), rune(rest[0])) {
		return nil, false
	}
	return rest, true
}

// decode gives the object of one document, nil for one without content.
func decode(source string, line int, text []byte) (map[string]any, error) {
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) == 0 {
		return nil, nil
	}
	encoded := trimmed
	if trimmed[0] != '{' || !json.Valid(trimmed) {
		var err error
		if encoded, err = yaml.YAMLToJSON(text); err != nil {
			return nil, fmt.Errorf("%s: %w", source, atLine(err, line))
		}
	}
	var content any
	if err := utiljson.Unmarshal(encoded, &content); err != nil {
		return nil, fmt.Errorf("%s: line %d: no JSON: %s", source, line, withoutQuotes(err.Error()))
	}
	object, isMap := content.(map[string]any)
	switch {
	case content == nil: // only comments
		return nil, nil
	case !isMap:
		return nil, fmt.Errorf("%s: line %d: no object, but %s", source, line, kindOfValue(content))
	}
	return object, nil
}

var yamlLine = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (?:line (\d+): )?`)

// atLine makes the line of a YAML error one of the file.
func atLine(err error, start int) error {
	text := strings.ReplaceAll(err.Error(), "\n", " ")
	line := start
	match := yamlLine.FindStringSubmatch(text)
	if match == nil {
		return fmt.Errorf("line %d: %s", line, withoutQuotes(text))
	}
	if n, wrong := strconv.Atoi(match[1]); wrong == nil {
		line += n - 1
	}
	return fmt.Errorf("line %d: no YAML: %s", line, withoutQuotes(text[len(match[0]):]))
}

// withoutQuotes cuts a message off where it begins to quote the file.
func withoutQuotes(text string) string {
	for _, mark := range []string{"did not find expected", "could not find expected"} { // characters of YAML
		if strings.HasPrefix(text, mark) {
			return text
		}
	}
	if at := strings.IndexAny(text, "'`\"{["); at >= 0 {
		return strings.TrimSpace(text[:at]) + " …"
	}
	return text
}

func kindOfValue(v any) string {
	switch v.(type) {
	case []any:
		return "a list"
	case string:
		return "a text"
	}
	return "a single value"
}

// flatten gives the items of a List, or the object itself.
func flatten(source string, object map[string]any, each func(string, map[string]any) error) error {
	return flattenAt(source, nil, object, func(source string, _ []int, object map[string]any) error { return each(source, object) })
}

// flattenAt also gives the places that lead to an item through the Lists around it.
func flattenAt(source string, places []int, object map[string]any, each func(string, []int, map[string]any) error) error {
	kind, _ := object["kind"].(string)
	apiVersion, _ := object["apiVersion"].(string)
	items, isList := object["items"].([]any)
	if !isList || !strings.HasSuffix(kind, "List") {
		if kind == "" || apiVersion == "" {
			return fmt.Errorf("%s: apiVersion or kind is missing: no Kubernetes object", source)
		}
		if _, err := schema.ParseGroupVersion(apiVersion); err != nil {
			return fmt.Errorf("%s: apiVersion is not of the form group/version: no Kubernetes object", source)
		}
		return each(source, places, object)
	}
	for i, raw := range items {
		at := fmt.Sprintf("%s, item %d", source, i)
		item, isMap := raw.(map[string]any)
		if !isMap {
			return fmt.Errorf("%s: no object, but %s", at, kindOfValue(raw))
		}
		// The items of a typed list, as the API gives it, leave out what they are.
		if ofKind := strings.TrimSuffix(kind, "List"); item["kind"] == nil && ofKind != "" {
			item["apiVersion"], item["kind"] = apiVersion, ofKind
		}
		if err := flattenAt(at, append(slices.Clone(places), i), item, each); err != nil {
			return err
		}
	}
	return nil
}
