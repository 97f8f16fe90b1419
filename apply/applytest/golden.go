package applytest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
