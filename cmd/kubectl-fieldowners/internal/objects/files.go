package objects

import (
	"bufio"
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

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
)

// Item is one object that was read from a file.
type Item struct {
	File    string // the path of the file; "stdin" for -
	Line    int    // the number of the line where the YAML document of the object begins
	Source  string // where the object is, for messages, such as "web.yaml, line 3, item 0"
	Content map[string]any
}

// ReadFiles calls the given function with every object in the given files. The path "-" means stdin. A file contains
// JSON, or YAML with one or more documents. The items of a List are passed to the function one by one. Only one
// document is in memory at a time. Errors contain the file and line, but no content, because the content may be
// secret.
func (r *Reader) ReadFiles(paths []string, each func(Item) error) error {
	for _, path := range paths {
		file, content, err := r.open(path)
		if err != nil {
			return err
		}
		some := false
		err = documents(content, func(line int, text []byte) error {
			found, err := r.readDocument(file, line, text, each)
			some = some || found
			return err
		})
		_ = content.Close() // the file was only read, so errors do not matter
		switch {
		case err != nil:
			return err
		case !some:
			return fmt.Errorf("%s: the file contains no object", file)
		}
	}
	return nil
}

// readDocument calls the given function with every object of a document, and reports whether there are any objects.
func (r *Reader) readDocument(file string, line int, text []byte, each func(Item) error) (found bool, err error) {
	object, err := decode(file, line, text)
	if object == nil || err != nil {
		return false, err
	}
	return true, r.flatten(Item{file, line, fmt.Sprintf("%s, line %d", file, line), object}, each)
}

// flatten calls the given function with the object. If the object is a List, flatten calls the function with each
// item instead, and also flattens nested Lists.
func (r *Reader) flatten(item Item, each func(Item) error) error {
	kind, _ := item.Content["kind"].(string)
	apiVersion, _ := item.Content["apiVersion"].(string)
	items, isList := item.Content["items"].([]any)
	if !isList || !strings.HasSuffix(kind, "List") {
		if kind == "" || apiVersion == "" {
			return fmt.Errorf("%s: not a Kubernetes object: apiVersion or kind is missing", item.Source)
		}
		if _, err := schema.ParseGroupVersion(apiVersion); err != nil {
			return fmt.Errorf("%s: not a Kubernetes object: apiVersion is neither VERSION nor GROUP/VERSION", item.Source)
		}
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		return each(item)
	}
	for i, raw := range items {
		content, isMap := raw.(map[string]any)
		below := Item{item.File, item.Line, fmt.Sprintf("%s, item %d", item.Source, i), content}
		if !isMap {
			return fmt.Errorf("%s: not a Kubernetes object, but %s", below.Source, kindOfValue(raw))
		}
		// The items of a typed list, as the API returns it, have neither apiVersion nor kind.
		if ofKind := strings.TrimSuffix(kind, "List"); below.Content["kind"] == nil && ofKind != "" {
			below.Content["apiVersion"], below.Content["kind"] = apiVersion, ofKind
		}
		if err := r.flatten(below, each); err != nil {
			return err
		}
	}
	return nil
}

// ReadAll returns all objects in the given files. ReadFiles describes the format of the files.
func (r *Reader) ReadAll(paths ...string) (all []map[string]any, err error) {
	err = r.ReadFiles(paths, func(item Item) error {
		all = append(all, item.Content)
		return nil
	})
	return all, err
}

// ReadFile returns the raw content of a file, and its name for messages. The path "-" means stdin.
func (r *Reader) ReadFile(path string) (source string, content []byte, err error) {
	source, file, err := r.open(path)
	if err != nil {
		return source, nil, err
	}
	defer file.Close()
	content, err = io.ReadAll(file)
	return source, content, err
}

func (r *Reader) open(path string) (source string, content io.ReadCloser, err error) {
	if path == "-" {
		if waits, _ := console.TerminalOf(r.In); waits {
			fmt.Fprintln(r.ErrOut, "reading objects from the terminal; end the input with Ctrl-D")
		}
		return "stdin", r.openStdin(), nil
	}
	file, err := os.Open(path)
	if notThere := (*os.PathError)(nil); errors.As(err, &notThere) {
		return path, nil, fmt.Errorf("%s: %w", path, notThere.Err)
	}
	return path, file, err
}

// openStdin returns a reader of stdin that returns an error when the command is interrupted.
func (r *Reader) openStdin() io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, r.In)
		in.CloseWithError(err)
	}()
	stop := context.AfterFunc(r.ctx, func() { out.CloseWithError(context.Canceled) })
	return closing{out, func() { stop() }}
}

// documents splits YAML into documents, which are separated by lines that begin with "---". It calls the given
// function with each document and the number of the document's first line.
func documents(content io.Reader, each func(line int, text []byte) error) error {
	lines := bufio.NewReader(content)
	start := 1
	var current []byte
	for line := 1; ; line++ {
		text, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if rest, is := separator(text); is {
			if err := each(start, current); err != nil {
				return err
			}
			current, start = nil, line+1
			if content := bytes.TrimSpace(rest); len(content) > 0 && content[0] != '#' {
				current, start = slices.Clone(rest), line
			}
		} else {
			current = append(current, text...)
		}
		if err != nil {
			return each(start, current)
		}
	}
}

// separator reports whether a line begins with "---" and separates YAML documents. rest is the text
// after "---", which may be the beginning of a document.
func separator(text []byte) (rest []byte, is bool) {
	rest, is = bytes.CutPrefix(text, []byte("---"))
	if !is || len(rest) > 0 && !bytes.ContainsRune([]byte(" \t\r\n"), rune(rest[0])) {
		return nil, false
	}
	return rest, true
}

// decode returns the object of one document. It returns nil if the document is empty or has only comments.
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
		return nil, fmt.Errorf("%s: line %d: not valid JSON: %s", source, line, withoutQuotes(err.Error()))
	}
	object, isMap := content.(map[string]any)
	switch {
	case content == nil: // the document has only comments
		return nil, nil
	case !isMap:
		return nil, fmt.Errorf("%s: line %d: not a Kubernetes object, but %s", source, line, kindOfValue(content))
	}
	return object, nil
}

var yamlLine = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (?:line (\d+): )?`)

// atLine returns an error of the YAML library with a corrected line number. The library counts lines
// from the beginning of the document; the result counts from the beginning of the file. start is the
// line of the file at which the document begins.
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
	return fmt.Errorf("line %d: not valid YAML: %s", line, withoutQuotes(text[len(match[0]):]))
}

// withoutQuotes truncates an error message before the first text that it quotes from the file.
func withoutQuotes(text string) string {
	for _, mark := range []string{"did not find expected", "could not find expected"} { // these messages quote only YAML syntax
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
