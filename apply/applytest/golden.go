// Package applytest helps to test reconcilers that write with package apply.
//
//   - Golden compares the intents that a pure function returns with a golden file. Read a golden file before you commit it:
//     each line is a field that the reconciler will own. An intent that was built from a typed object also contains zero
//     values, and the reconciler will own these fields as well.
//   - Owns checks the intents against the contract of the field manager (package fieldowners/contract).
//   - NewServer starts an API server in memory, for tests of whole reconcilers. It responds like kube-apiserver. See
//     docs/testing.md.
//
// # The fake client
//
// Package apply also works with controller-runtime's fake client. The fake client (v0.25) differs from an API server in the
// following points. Use NewServer for tests that depend on one of these points, and for tests of applies that change
// nothing.
//
//   - A dry run of an apply is a real apply, so Applier.Plan writes.
//   - An object that was created by an apply has no uid. So no write can be pinned to the object, and Force, Release and
//     Rename are refused. Give the client objects with a uid (WithObjects).
//   - The uid in an apply is not compared with the uid of the object, but replaces it.
//   - Unknown fields, kinds and namespaces are accepted, and so is an Intent.Body of the wrong kind for the subresource.
//   - Lists of custom resources are atomic.
//   - For a kind in its scheme, the fake client converts the configuration to the Go type and back. So an apply also sets
//     all fields without omitempty that it omits to zero, and conflicts with their owners. This concerns, for example, a
//     reconciler with reconciler.Config.Prune, which applies annotations to the parent. Give the fields omitempty (the CRD
//     may still require them).
//   - The RESTMapper of the fake client knows no kinds, but Round.Prune needs to look up kinds. Give the client a
//     RESTMapper that was created with the group versions of the kinds (WithRESTMapper).
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

// Golden compares intents, such as those that a pure emit function returns, with a golden file. The file contains one
// YAML document for each intent, in the given order. Each document is the apply configuration, after a comment with the
// other fields of the intent, such as MustExist. Without intents, the file contains only a comment. The path of the
// file is relative to the folder of the test. If APPLYTEST_UPDATE is 1 in the environment, Golden writes the file:
//
//	APPLYTEST_UPDATE=1 go test ./...
//
// If Apply would reject an intent before any request, for example because the intent has no name, the test fails, and
// the file is not written. Read the file that Golden writes: zero values from a typed object look like intended values.
// Values of Secrets are written and shown in clear text, so use made-up values.
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

func updating() (bool, error) {
	value := os.Getenv(updateVariable)
	if value == "" {
		return false, nil
	}
	update, err := strconv.ParseBool(value)
	if err != nil {
		err = fmt.Errorf("the environment variable %s is %q, but must be 1 to write the golden files, or 0 to compare with them", updateVariable, value)
	}
	return update, err
}

func writeFile(file, content string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(content), 0o644)
}

// render returns the intents as YAML documents, which is the content of a golden file.
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

// documentsOf returns the YAML documents of an intent. The first document is the configuration, after a comment with
// the other fields. A second configuration in the intent, such as Body, becomes a second document. documentsOf uses
// reflection, so that future fields of Intent are included. It ignores encoding errors, because checker has already
// encoded the configurations.
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

// checker returns a function that returns an error if Apply would reject an intent before any request. The function
// calls Apply with a cancelled context: an invalid intent is rejected, and for a valid intent nothing is sent.
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

// unreachable is an http.RoundTripper that returns an error for each request.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("applytest: the request failed, because Golden has no API server")
}
