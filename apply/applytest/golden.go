// Package applytest helps to test reconcilers that write with package apply.
//
//   - Golden compares the intents that a pure function returns with a golden file. Read a golden file
//     before you commit it: each line is a field that the reconciler will own. If an intent was built
//     from a typed object, the file contains zero values. The reconciler will own these fields as well.
//   - Owns checks the intents against the contract of the field manager.
//   - NewServer starts an API server in memory, for tests of whole reconcilers. Its answers are those of a kube-apiserver. See
//     docs/testing.md.
//
// # The fake client
//
// Apply also works on controller-runtime's fake client. The fake client (v0.25) differs from an API server as follows. Use NewServer for tests
// that depend on one of these points, or on applies that change nothing:
//
//   - A dry run of an apply is a real apply, so Applier.Plan writes.
//   - An object that an apply creates has no uid, so no write can be pinned to the object, and Force,
//     Release and Rename are refused. Give the client objects with a uid (WithObjects).
//   - The uid in an apply is not compared with the uid of the object, but replaces it.
//   - Unknown fields, kinds and namespaces are accepted. So is a Body whose kind is not the kind of the
//     subresource.
//   - Lists of custom resources are atomic.
//   - For a kind in its scheme, the fake client applies the configuration as the Go type encodes it,
//     with zero values. So an apply of fewer fields, such as the apply to a parent with
//     reconciler.Config.Prune, conflicts with the owner of each field without omitempty. Give these
//     fields omitempty (the CRD may still require them).
//   - The RESTMapper of the fake client knows no kinds, but Round.Prune needs them. Give the client a
//     RESTMapper that was created with their group versions (WithRESTMapper).
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

// updateVariable is the environment variable that makes Golden write the golden files.
const updateVariable = "APPLYTEST_UPDATE"

// Golden compares intents, such as the result of a pure Emit, with a golden file. The file has one
// YAML document for each intent, in the given order. The other fields of the intent (such as
// MustExist) are a comment above the document. The path is relative to the folder of the test. If
// there are no intents, the file is a comment that says so. With the environment variable
// APPLYTEST_UPDATE=1, Golden writes the file:
//
//	APPLYTEST_UPDATE=1 go test ./...
//
// If apply would reject an intent before any request (no name, managedFields, …), the test fails,
// and the file is never written. Read what Golden writes: zero values from a typed object look like
// intended values. Values of Secrets are written and shown in clear text, so use made-up values.
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
		t.Errorf("there is no golden file %s. Write the file with this command, and read the file before you commit it:\n\n\t%s\n\nThe file will be:\n%s",
			file, howToWrite(t), got)
	default:
		t.Errorf("the intents differ from %s (-want +got):\n%s\nIf the intents are right, update the file with:\n\n\t%s",
			file, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")), howToWrite(t))
	}
}

func howToWrite(t testing.TB) string {
	return fmt.Sprintf("%s=1 go test -run '%s' .", updateVariable, t.Name())
}

// updating reports whether Golden should write the golden files.
func updating() (bool, error) {
	value := os.Getenv(updateVariable)
	if value == "" {
		return false, nil
	}
	update, err := strconv.ParseBool(value)
	if err != nil {
		err = fmt.Errorf("the environment variable %s=%q: want 1 to write the golden files, or 0 to compare with them", updateVariable, value)
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

// documentsOf returns the configuration as a YAML document, with a comment above it that lists the
// other fields of the intent. It uses reflection, so that a new field of Intent is not forgotten. A
// second configuration, such as the body of a subresource, is a separate document. Encoding cannot
// fail, as checker has already encoded both configurations.
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

// checker returns a function that returns the error if apply rejects an intent. The function uses
// an Applier with a cancelled context: the Applier rejects an invalid intent, and sends nothing for
// a valid intent.
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

// unreachable is an http.RoundTripper that returns an error for every request.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("applytest: Golden has no API server")
}
