package contract

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ReadError says on which line of a contract something is wrong.
type ReadError struct {
	Line int // from 1; 0 for the text as a whole
	Err  error
}

func (e *ReadError) Error() string {
	if e.Line == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("line %d: %v", e.Line, e.Err)
}

func (e *ReadError) Unwrap() error { return e.Err }

// Read reads a contract as Write writes it. Unknown keys are errors, as is all that Check
// refuses. The error joins a *ReadError for each.
func Read(r io.Reader) (Contract, error) {
	root, err := readRoot(r)
	if err != nil {
		return nil, err
	}
	reading := &reading{lines: map[place]int{}}
	reading.document(root)
	for _, err := range unjoin(Check(reading.contract)) {
		reading.errs = append(reading.errs, &ReadError{reading.lineOf(err), err})
	}
	if len(reading.errs) > 0 {
		return nil, reading.join()
	}
	return reading.contract, nil
}

// readRoot returns the root of the only document of a text.
func readRoot(r io.Reader) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(r)
	var document, more yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, &ReadError{Err: fmt.Errorf("contract: empty; it begins with %q", wordManagers+":")}
	case err != nil:
		return nil, syntaxError(err)
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		return nil, &ReadError{more.Line, errors.New("contract: a second document; a contract is one")}
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(err)
	}
	return document.Content[0], nil
}

// syntaxError returns the parser's error as a ReadError with its line.
func syntaxError(err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	number, rest, _ := strings.Cut(strings.TrimPrefix(message, "line "), ": ")
	if line, err := strconv.Atoi(number); err == nil {
		return &ReadError{line, errors.New("not YAML: " + rest)}
	}
	return &ReadError{Err: fmt.Errorf("not YAML: %s", message)}
}

// place identifies a path of a claim, or, without a path, the claim itself.
type place struct {
	manager string
	kind    schema.GroupKind
	path    string
}

// reading is the state of a Read.
type reading struct {
	contract Contract
	lines    map[place]int // of the last occurrence
	errs     []*ReadError
}

func (r *reading) fail(at *yaml.Node, format string, args ...any) {
	r.errs = append(r.errs, &ReadError{at.Line, fmt.Errorf("contract: "+format, args...)})
}

// join returns the errors in the order of lines.
func (r *reading) join() error {
	slices.SortStableFunc(r.errs, func(a, b *ReadError) int { return a.Line - b.Line })
	errs := make([]error, len(r.errs))
	for i, err := range r.errs {
		errs[i] = err
	}
	return errors.Join(errs...)
}

func (r *reading) lineOf(err error) int {
	wrong := (*ClaimError)(nil)
	if !errors.As(err, &wrong) {
		return 0
	}
	if line, known := r.lines[place{wrong.Manager, wrong.Kind, wrong.Path}]; known {
		return line
	}
	return r.lines[place{wrong.Manager, wrong.Kind, ""}]
}

func (r *reading) document(root *yaml.Node) {
	r.each(root, "a contract", func(key string, at, value *yaml.Node) {
		if key != wordManagers {
			r.fail(at, "%q is not of a contract; it has %s: alone", key, wordManagers)
			return
		}
		r.each(value, wordManagers, func(manager string, _, value *yaml.Node) {
			r.each(value, fmt.Sprintf("%q", manager), func(kind string, at, value *yaml.Node) {
				r.claim(manager, kind, at, value)
			})
		})
	})
	if len(r.contract)+len(r.errs) == 0 {
		r.fail(root, "names no field manager below %s:", wordManagers)
	}
}

func (r *reading) claim(manager, kind string, at, value *yaml.Node) {
	claim := Claim{Manager: manager, Kind: schema.ParseGroupKind(kind)}
	if kind == "" {
		r.fail(at, "%q: an empty kind", manager)
		return
	}
	where := fmt.Sprintf("%q, %s", manager, kind)
	note := func(path string, line int) { r.lines[place{manager, claim.Kind, path}] = line }
	note("", at.Line)
	r.each(value, where, func(key string, at, value *yaml.Node) {
		switch key {
		case words[metav1.ManagedFieldsOperationApply]:
			claim.Applies = r.list(value, where+", "+key, note)
		case words[metav1.ManagedFieldsOperationUpdate]:
			claim.Updates = r.list(value, where+", "+key, note)
		case wordShared:
			claim.Shared = map[string]string{}
			r.each(value, where+", "+key, func(path string, at, why *yaml.Node) {
				note(path, at.Line)
				if why.Kind != yaml.ScalarNode {
					r.fail(why, "%s, %s: want a sentence that says why it is shared", where, path)
					return
				}
				claim.Shared[path] = why.Value
			})
		case wordSelector:
			if claim.Selector = value.Value; value.Kind != yaml.ScalarNode || claim.Selector == "" {
				r.fail(value, "%s, %s: want a label selector, such as app=shop", where, key)
			}
		default:
			r.fail(at, "%s: %q is not of a claim; it has applies:, updates:, shared: and selector:", where, key)
		}
	})
	r.contract = append(r.contract, claim)
}

// list reads a list of paths.
func (r *reading) list(node *yaml.Node, where string, note func(path string, line int)) []string {
	if node.Kind != yaml.SequenceNode {
		r.fail(node, "%s: want a list of paths", where)
		return nil
	}
	var paths []string
	for _, item := range node.Content {
		if item.Kind != yaml.ScalarNode {
			r.fail(item, "%s: want a path, such as .spec.replicas; quote one that begins with [", where)
			continue
		}
		note(item.Value, item.Line)
		paths = append(paths, item.Value)
	}
	return paths
}

// each reads a mapping, key by key; one key twice is an error.
func (r *reading) each(node *yaml.Node, where string, read func(key string, at, value *yaml.Node)) {
	if node.Kind != yaml.MappingNode {
		r.fail(node, "%s: want a mapping", where)
		return
	}
	seen := map[string]int{}
	for pair := range slices.Chunk(node.Content, 2) {
		key, value := pair[0], pair[1]
		switch line, twice := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			r.fail(key, "%s: want a name for a key", where)
		case twice:
			r.fail(key, "%s: %q for the second time; the first is on line %d", where, key.Value, line)
		default:
			seen[key.Value] = key.Line
			read(key.Value, key, value)
		}
	}
}

func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return nil
}
