// Package applytest tests reconcilers that write with package apply.
//
//   - Golden compares the intents of a pure function with a file. Read a golden file before
//     committing it: each line is a field that the reconciler will own. A golden file of an
//     intent that was built from a typed object contains zero values, which are claims like any
//     other.
//   - Owns checks the intents against the contract of the field manager.
//
// # Tests without an API server
//
// Apply works on controller-runtime's fake client, with conflicts on built-in kinds and with
// forced applies of objects that have a uid. Package interceptor of controller-runtime makes a
// call of that client fail. The fake client differs from an API server as follows (v0.25). For
// tests that depend on one of these points, or on applies that change nothing, use envtest:
//
//   - A dry run of an apply is an apply: Applier.Plan writes.
//   - An object that an apply creates has no uid, so no write can be pinned to the object:
//     Force, Release and Rename are refused. Give the client objects with a uid (WithObjects).
//   - The uid in an apply is not compared, but replaces that of the object.
//   - Unknown fields, kinds and namespaces are accepted, and so is a Body of another kind than
//     the subresource's.
//   - Lists of custom resources are atomic.
//   - For a kind in its scheme it applies the configuration as the Go type writes it, with zero
//     values. So an apply of fewer fields, such as that to a parent with
//     reconciler.Config.Prune, conflicts over each field without omitempty that somebody owns.
//     Give these fields omitempty (the CRD may still require them).
//   - Its RESTMapper knows no kinds, which Round.Prune needs: give the client a mapper that was
//     made with their group versions (WithRESTMapper).
package applytest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/apply"
)

// updateVariable is the environment variable that makes Golden write its files.
const updateVariable = "APPLYTEST_UPDATE"

// Golden compares the intents, such as those of a pure Emit, with a golden file: one YAML
// document each, in the order given, below a comment with the intent's other fields (MustExist
// and so on). The path is relative to the folder of the test. Without intents the file is a comment
// that says so. With the environment variable APPLYTEST_UPDATE=1, Golden writes the file:
//
//	APPLYTEST_UPDATE=1 go test ./...
//
// Intents that apply refuses before any request (no name, managedFields, …) fail the test and
// are never written. Zero values from a typed object look like values that are meant: read what
// is written. The values of Secrets are written and shown in clear: use made-up ones.
func Golden(t testing.TB, file string, intents ...apply.Intent) {
	t.Helper()
	if file == "" {
		t.Error("applytest: Golden needs the path of a file, such as testdata/NAME.yaml")
		return
	}
	got, err := render(intents)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	update, err := updating()
	if err != nil {
		t.Error(err)
		return
	}
	want, err := os.ReadFile(file)
	switch missing := os.IsNotExist(err); {
	case err != nil && !missing:
		t.Errorf("reading the golden file: %v", err)
	case string(want) == got:
	case update:
		if err := writeFile(file, got); err != nil {
			t.Errorf("writing the golden file: %v", err)
			return
		}
		t.Logf("wrote %s", file)
	case missing:
		t.Errorf("there is no golden file %s; write it, and read it before you commit it, with:\n\n\t%s\n\nIt would be:\n%s",
			file, howToWrite(t), got)
	default:
		t.Errorf("the intents differ from %s (-want +got):\n%s\nIf they are as they should be, write the file with:\n\n\t%s",
			file, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")), howToWrite(t))
	}
}

func howToWrite(t testing.TB) string {
	return fmt.Sprintf("%s=1 go test -run '%s' .", updateVariable, t.Name())
}

// updating reports whether the golden files are to be written.
func updating() (bool, error) {
	value := os.Getenv(updateVariable)
	if value == "" {
		return false, nil
	}
	update, err := strconv.ParseBool(value)
	if err != nil {
		err = fmt.Errorf("%s=%q: want 1 to write the golden files, or 0", updateVariable, value)
	}
	return update, err
}

func writeFile(file, content string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(content), 0o644)
}

// render returns the intents as a stream of YAML documents.
func render(intents []apply.Intent) (string, error) {
	check, err := checker()
	if err != nil {
		return "", err
	}
	var documents []string
	for i, intent := range intents {
		if err := check(intent); err != nil {
			return "", fmt.Errorf("intent %d of %d: %w", i+1, len(intents), err)
		}
		documents = append(documents, documentsOf(intent)...)
	}
	if len(documents) == 0 {
		return "# no intents\n", nil
	}
	return strings.Join(documents, "---\n"), nil
}

// documentsOf returns the configuration below a comment with the other fields of the intent. It
// goes through all fields of Intent, so that none is forgotten: a further configuration, such
// as the body of a subresource, is a document of its own. Each can be written: checker has
// encoded it.
func documentsOf(intent apply.Intent) []string {
	config, _ := yaml.Marshal(intent.Config)
	var document strings.Builder
	var others []string
	for field, value := range reflect.ValueOf(intent).Fields() {
		if field.Name == "Config" || value.IsZero() {
			continue
		}
		if body, ok := reflect.TypeAssert[runtime.ApplyConfiguration](value); ok {
			raw, _ := yaml.Marshal(body)
			others = append(others, fmt.Sprintf("# %s of the intent above\n%s", field.Name, raw))
			continue
		}
		fmt.Fprintf(&document, "# %s: %v\n", field.Name, value.Interface())
	}
	document.Write(config)
	return append([]string{document.String()}, others...)
}

// checker returns a function that returns why apply refuses an intent: an Applier whose context
// has ended refuses an invalid intent, and sends nothing for a valid one.
func checker() (func(apply.Intent) error, error) {
	nowhere := &rest.Config{Host: "http://no-server.invalid", Transport: unreachable{}}
	c, err := client.New(nowhere, client.Options{Scheme: runtime.NewScheme(), Mapper: meta.NewDefaultRESTMapper(nil)})
	if err != nil {
		return nil, err
	}
	applier, err := apply.New(c, apply.Config{FieldManager: "applytest", LiveReader: c})
	if err != nil {
		return nil, err
	}
	ended, end := context.WithCancel(context.Background())
	end()
	return func(intent apply.Intent) error {
		if _, err := applier.Apply(ended, intent); errors.Is(err, apply.ErrInvalidIntent) {
			return err
		}
		return nil
	}, nil
}

// unreachable is a transport that reaches no server.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("there is no server behind a golden file")
}
