package results_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"coapply.dev/compare/history"
	"coapply.dev/compare/results"
)

const schemaDocument = "../../docs/results-schema.md"

// TestResultsSchema compares the tables of fields with the Go types that are written: no field is missing, and none is
// made up.
func TestResultsSchema(t *testing.T) {
	documented := documentedFields(t)
	written := map[string]map[string]bool{}
	for _, root := range []any{
		results.Results{}, results.Run{}, results.Trial{}, history.Operation{}, history.Version{},
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

// TestCSVColumns finds each column of results.csv among the documented fields of an arm in a cell.
func TestCSVColumns(t *testing.T) {
	data, err := results.CSV(results.Results{})
	if err != nil {
		t.Fatal(err)
	}
	documented := documentedFields(t)
	for column := range strings.SplitSeq(strings.TrimSpace(string(data)), ",") {
		cut := strings.LastIndex(column, "_") + 1
		parent, end := strings.TrimSuffix(column[:cut], "_"), column[cut:]
		deeper := documented["results.Interval"][end] != "" || documented["results.Percentiles"][end] != ""
		if documented["results.Result"][column] == "" && (!deeper || documented["results.Result"][parent] == "") {
			t.Errorf("%s: column %s of results.csv is no field of results.Result", schemaDocument, column)
		}
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
	schemaHeading = regexp.MustCompile("^### .*: `((?:results|compare|history)\\.[A-Z]\\w*)`$")
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
		row := schemaRow.FindStringSubmatch(line)
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
		if !field.Anonymous {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			fields[name] = true
		}
		writtenFields(field.Type, written)
	}
}
