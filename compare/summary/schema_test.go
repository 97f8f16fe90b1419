package summary_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"coapply.dev/compare/results"
	"coapply.dev/compare/summary"
)

const schemaDocument = "../../docs/results-schema.md"

// TestResultsSchema compares the tables of fields of results.jsonl with the Go types that are written: no field is missing,
// and none is made up. The other files have their meanings in their Go types.
func TestResultsSchema(t *testing.T) {
	documented := documentedFields(t)
	written := map[string]map[string]bool{}
	for _, root := range []any{
		summary.Info{}, summary.Answer{}, summary.Situation{}, summary.Row{}, summary.Comparison{}, summary.Contest{},
		summary.System{}, summary.Check{},
	} {
		writtenFields(reflect.TypeOf(root), written)
	}
	for name, fields := range written {
		for field := range fields {
			if documented[name][field] == "" {
				t.Errorf("%s: %s has a field %q", schemaDocument, name, field)
			}
		}
	}
	for name, fields := range documented {
		for field, unit := range fields {
			if !written[name][field] {
				t.Errorf("%s: %s has no field %q", schemaDocument, name, field)
			}
			if want := unitOf(field); want != "" && unit != want {
				t.Errorf("%s: the unit of %s is %s, not %q", schemaDocument, field, want, unit)
			}
		}
	}
}

// TestMeasuresAreDocumented compares the table of measures with those that are taken.
func TestMeasuresAreDocumented(t *testing.T) {
	content, err := os.ReadFile(schemaDocument)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	fmt.Fprint(&want, "| Measure | Unit | Meaning |\n|---|---|---|\n")
	for _, m := range summary.Measures {
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", m.Name, m.Unit, m.Text)
	}
	if !strings.Contains(string(content), want.String()) {
		t.Errorf("%s: the table of measures is not\n%s", schemaDocument, &want)
	}
}

var threatRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ([^|]+) \\|")

// TestChecksAreDocumented compares the table of threats with the checks that a report has: the same, in the same order.
func TestChecksAreDocumented(t *testing.T) {
	content, err := os.ReadFile("../../docs/benchmarking.md")
	if err != nil {
		t.Fatal(err)
	}
	_, threats, _ := strings.Cut(string(content), "## Threats to validity")
	var shown, checks []string
	for _, row := range threatRow.FindAllStringSubmatch(threats, -1) {
		shown = append(shown, row[1]+": "+row[2])
	}
	for _, c := range summary.Of(results.Run{}, nil).Checks {
		checks = append(checks, c.Name+": "+c.Threat)
	}
	if !reflect.DeepEqual(shown, checks) {
		t.Errorf("the table has\n%s\nthe report\n%s", strings.Join(shown, "\n"), strings.Join(checks, "\n"))
	}
}

// unitOf a field that has it in its name.
func unitOf(field string) string {
	for _, suffix := range []struct{ end, unit string }{
		{"Ns", "ns"}, {"_ms", "ms"}, {"_ms_per_intent", "ms"}, {"_per_s", "/s"}, {"Bytes", "bytes"}, {"_bytes", "bytes"},
		{"Seconds", "s"}, {"_share", "share"},
	} {
		if strings.HasSuffix(field, suffix.end) {
			return suffix.unit
		}
	}
	return ""
}

var (
	schemaHeading = regexp.MustCompile("^### .*: `((?:summary|statistics|results|compare|history)\\.[A-Z]\\w*)`$")
	schemaRow     = regexp.MustCompile("^\\| (`\\w+`(?:, `\\w+`)*) \\| ([^|]+) \\| ([^|]+) \\|$")
)

// documentedFields are units by type and field. A row documents fields of one unit.
func documentedFields(t *testing.T) map[string]map[string]string {
	t.Helper()
	content, err := os.ReadFile(schemaDocument)
	if err != nil {
		t.Fatal(err)
	}
	documented, name := map[string]map[string]string{}, ""
	for number, line := range strings.Split(string(content), "\n") {
		if heading := schemaHeading.FindStringSubmatch(line); heading != nil {
			name = heading[1]
			documented[name] = map[string]string{}
			continue
		}
		if strings.HasPrefix(line, "#") {
			name = ""
		}
		row := schemaRow.FindStringSubmatch(line)
		if name == "" {
			continue // another table
		}
		if row == nil && strings.HasPrefix(line, "| `") || row != nil && documented[name] == nil {
			t.Errorf("%s:%d: no row of fields", schemaDocument, number+1)
			continue
		}
		if row == nil {
			continue
		}
		for field := range strings.SplitSeq(row[1], ", ") {
			field = strings.Trim(field, "`")
			if documented[name][field] != "" {
				t.Errorf("%s:%d: %s is documented above", schemaDocument, number+1, field)
			}
			documented[name][field] = row[2]
		}
	}
	return documented
}

// writtenFields adds the names in JSON of a struct and of all that it holds. What is embedded is documented where it is
// declared.
func writtenFields(kind reflect.Type, written map[string]map[string]bool) {
	switch kind.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		writtenFields(kind.Elem(), written)
		return
	case reflect.Struct:
	default:
		return
	}
	if kind == reflect.TypeFor[time.Time]() || written[kind.String()] != nil {
		return
	}
	fields := map[string]bool{}
	written[kind.String()] = fields
	for field := range kind.Fields() {
		if !field.IsExported() {
			continue
		}
		if !field.Anonymous {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			fields[name] = true
		}
		writtenFields(field.Type, written)
	}
}
