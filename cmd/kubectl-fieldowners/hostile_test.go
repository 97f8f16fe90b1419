package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// steers is what a terminal obeys, or turns its lines around, and what a page runs.
const steers = "a\x1b[2J\x1b]0;x\a\u009b31m\u202eb\u2066\u2028\r<script>"

// hostileObject has it in each name and value that an object may have it in.
func hostileObject(value, rest string) string {
	quoted, _ := json.Marshal(steers)
	field, _ := json.Marshal("f:" + steers)
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": %[1]s, "metadata": {"name": %[1]s, "namespace": %[1]s, "uid": %[1]s, "managedFields": [
		{"manager": %[1]s, "operation": "Update", "subresource": %[1]s, "apiVersion": %[1]s, "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {%[2]s: {}}}},
		{"manager": "other", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {%[2]s: {}, "f:gone": {%[2]s: {}}}}}%[4]s
		]}, "data": {%[1]s: %[3]q}}`, quoted, field, value, rest)
}

// unreadable is an entry whose error quotes what is in it.
func unreadable() string {
	quoted, _ := json.Marshal(steers)
	return fmt.Sprintf(`, {"manager": %[1]s, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {%[1]s: {}}}`, quoted)
}

// TestNothingSteersTheTerminal has every command that reads files print such objects, from a file
// of such a name, in each of its outputs.
func TestNothingSteersTheTerminal(t *testing.T) {
	folder := t.TempDir() + "/x\x1b[31m\u202e"
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	quoted, _ := json.Marshal(steers)
	live := write("live", hostileObject("1", ""))
	odd := write("odd", hostileObject("1", unreadable()))
	intent := write("intent", fmt.Sprintf(`{"apiVersion": "v1", "kind": %[1]s, "metadata": {"name": %[1]s, "namespace": %[1]s}, "data": {%[1]s: "2"}}`, quoted))
	broken := write("broken", steers+": [")
	contract := write("contract", fmt.Sprintf(`{"managers": {%[1]s: {%[1]s: {"applies": [%[1]s]}}}}`, quoted))
	answer := write("answer", `error: Apply failed with 1 conflict: conflict with "`+steers+`": .data.`+steers)
	var commands [][]string
	for command, arguments := range map[string][][]string{
		"get":     {{"-f", live}, {"-f", odd}},
		"audit":   {{"-f", odd}},
		"explain": {{"-f", answer, "--live", live, "--intent", intent}},
	} {
		for _, output := range outputsOf(t, command) {
			for _, args := range arguments {
				commands = append(commands, slices.Concat([]string{command}, args, []string{"-o", output}))
			}
		}
	}
	commands = append(commands,
		[]string{"get", "-f", live, "--path", steers}, []string{"get", "-f", live, "--manager", steers + "x"}, []string{"get", "-f", broken}, []string{"get", "-f", steers},
		[]string{"audit", "-f", live, "--contract", contract}, []string{"audit", "-f", live, "--contract", broken},
		[]string{"check", "-f", broken, "--field-manager", "us"}, []string{steers}, []string{"get", "-o", steers})
	shown := 0
	for _, args := range commands {
		var out, errOut bytes.Buffer
		run(t.Context(), args, strings.NewReader(""), &out, &errOut)
		text := out.String() + errOut.String()
		if at := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }); at >= 0 {
			t.Errorf("%q prints %+q", args, text[max(0, at-80):min(len(text), at+40)])
		}
		if strings.Contains(text, `\u202e`) || strings.Contains(text, `\U0000202e`) {
			shown++
		}
	}
	if shown < len(commands)-5 {
		t.Errorf("%d of %d commands say what is there", shown, len(commands))
	}
}

// outputsOf lists the formats of a command, from its help.
func outputsOf(t *testing.T, command string) []string {
	t.Helper()
	cmd, _, err := newRoot(genericiooptions.NewTestIOStreamsDiscard()).Find([]string{command})
	if err != nil {
		t.Fatal(err)
	}
	outputs := strings.FieldsFunc(strings.ReplaceAll(cmd.Flag("output").Usage, " or ", ", "), func(r rune) bool { return r == ',' || r == ' ' })
	if len(outputs) < 3 {
		t.Fatalf("%s has the formats %q", command, outputs)
	}
	return outputs
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "objects")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const managed = `"managedFields": [{"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}}]`

// TestFilesThatGrow: a few lines of YAML that would be a billion values, and what is nested without
// an end, are refused or cut by every command that reads files. Nobody waits, and what is
// printed has a bound.
func TestFilesThatGrow(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		fmt.Fprintf(&laughs, "  a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	nested := func(levels int) string {
		return `{"apiVersion": "v1", "kind": "Deep", "metadata": {"name": "a", ` + managed + `}, "data": ` + strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels) + "}"
	}
	for _, test := range []struct{ reason, content, says string }{
		{"aliases of aliases", laughs.String(), "excessive aliasing"},
		{"an alias of itself", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: &a {b: *a}\n", "not valid YAML: anchor"},
		{"9,000 levels", nested(9000), ""},
		{"100,000 levels", nested(100_000), "depth"},
		{"100,000 levels of YAML", "a: " + strings.Repeat("[", 100_000), "depth"},
	} {
		path := file(t, test.content)
		live := file(t, nested(1))
		for _, args := range [][]string{
			{"get", "-f", path}, {"audit", "-f", path},
			{"explain", "-f", path}, {"explain", "-f", live, "--live", path}, {"audit", "-f", live, "--contract", path},
		} {
			var out, errOut bytes.Buffer
			code := run(t.Context(), args, strings.NewReader(""), &out, &errOut)
			if out.Len() > 3<<20 || errOut.Len() > 3<<20 {
				t.Errorf("%s, %v: %d bytes, and %d on stderr", test.reason, args, out.Len(), errOut.Len())
			}
			if code != 2 && test.says != "" {
				t.Errorf("%s, %v: exit code %d: %.200s", test.reason, args, code, errOut.String())
			}
			if args[0] == "get" && !strings.Contains(errOut.String(), test.says) {
				t.Errorf("%s, %v: %.200s, want %q", test.reason, args, errOut.String(), test.says)
			}
		}
	}
}
