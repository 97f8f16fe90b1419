package explain_test

import (
	"cmp"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"coapply.dev/cmd/kubectl-fieldowners/explain"
	"coapply.dev/fieldowners"
)

const advice = `Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the ` + "`--force-conflicts`" + ` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
`

const statusJSON = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
	`"message":"Apply failed with 1 conflict: conflict with \"edit\" using v1: .data.x","reason":"Conflict",` +
	`"details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"edit\" using v1","field":".data.x"}]},"code":409}`

const twoOfOne = "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.x\n- .metadata.annotations.a.b/c\n"

// TestReads holds the forms in which an answer comes. What the API server and
// kubectl really write is in test/integration.
func TestReads(t *testing.T) {
	edit := []string{".data.x: owned by edit/Update"}
	one := []string{".data.x: owned by one/Apply", `.metadata.annotations["a.b/c"]: owned by one/Apply`}
	for _, c := range []struct {
		reason, answer string
		want           [][]string
	}{
		{"the API server's answer", statusJSON, [][]string{edit}},
		{"without the kind that Go clients drop", strings.Replace(statusJSON, `"kind":"Status","apiVersion":"v1",`, "", 1), [][]string{edit}},
		{"with another cause", strings.Replace(statusJSON, `"causes":[`, `"causes":[{"reason":"FieldValueInvalid","message":"hello","field":".y"},`, 1), [][]string{edit}},
		{"two documents", statusJSON + "\n---\n" + statusJSON, [][]string{edit, edit}},
		{"two documents of JSON", statusJSON + "\n" + statusJSON, [][]string{edit, edit}},
		{"a Status without its details", `{"kind":"Status","code":409,"message":"Apply failed with 1 conflict: conflict with \"edit\" using v1: .data.x"}`, [][]string{edit}},
		{"one conflict", "error: Apply failed with 1 conflict: conflict with \"edit\" using v1: .data.x\n" + advice, [][]string{edit}},
		{"as kubectl diff prints it", `Error from server (Conflict): Apply failed with 1 conflict: conflict with "edit" using v1: .data.x`, [][]string{edit}},
		{"line ends of Windows", strings.ReplaceAll("error: "+twoOfOne+advice, "\n", "\r\n"), [][]string{one}},
		{"pasted with a margin", "    error: " + strings.ReplaceAll(twoOfOne, "\n", "\n    ") + "\n", [][]string{one}},
		{"several objects, and what else kubectl prints", "configmap/b serverside-applied\nWarning: something\n" + twoOfOne + advice +
			`Error from server (NotFound): namespaces "n" not found` + "\n" +
			"Apply failed with 1 conflict: conflict with \"edit\" using v1: .data.x\n" + advice, [][]string{one, edit}},
		{"several managers", "Apply failed with 3 conflicts: conflicts with \"a: b\" with subresource \"scale\" using apps/v1 at 2020-01-02T03:04:05Z:\n- .x\n" +
			"conflicts with \"one\":\n- .y: z\n- .x\n" + advice,
			[][]string{{".x: owned by a: b/Update[scale]", ".y: z: owned by one/Apply", ".x: owned by one/Apply"}}},
		{"a structured log", `{"level":"error","msg":"Reconciler error","error":"Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.x\n- .metadata.annotations.a.b/c"}`, [][]string{one}},
		{"a line of klog", `E1121 09:27:29 x.go:1] "failed" err="Apply failed with 1 conflict: conflict with \"edit\" using v1: .data.x" name="a"`, [][]string{edit}},
		{"quoted, and nothing else", `"Apply failed with 1 conflict: conflict with \"edit\" using v1: .data.x"`, [][]string{edit}},
		{"kubectl -v=8 has it twice", `I1 "Response Body" body="{\"message\":\"...\"}"` + "\n\t" + statusJSON + "\n >\nerror: " +
			"Apply failed with 1 conflict: conflict with \"edit\" using v1: .data.x\n", [][]string{edit}},
	} {
		explanations, err := explain.Answer([]byte(c.answer), nil, nil)
		if err != nil {
			t.Errorf("%s: %v", c.reason, err)
		}
		var got [][]string
		for _, e := range explanations {
			var lines []string
			for _, k := range e.Conflicts {
				lines = append(lines, lineOf(k))
			}
			got = append(got, lines)
		}
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

// lineOf returns the field, its owner and what is known of the values on one line.
func lineOf(c explain.Conflict) string {
	text := cmp.Or(c.Path.String(), c.ServerPath) + ": owned by " + c.Owner.String()
	if c.Theirs != nil {
		text += " with " + fieldowners.FormatValue(*c.Theirs)
	}
	if c.Ours != nil {
		text += ", ours is " + fieldowners.FormatValue(*c.Ours)
	}
	return text
}

const noConflict = "Apply failed with 0 conflicts: conflicts with \"a\":\n"

func TestRefuses(t *testing.T) {
	status := func(code, reason, message string) string {
		return `{"kind":"Status","status":"Failure","code":` + code + `,"reason":"` + reason + `","message":"` + message + `"}`
	}
	const stale = `Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again`
	for _, c := range []struct{ reason, answer, want string }{
		{"nothing", "", "the input is empty"},
		{"no conflict in it", noConflict, "line 1: the conflict message is cut off: it lists no conflict"},
		{"white space", " \n\t\n", "the input is empty"},
		{"some text", "hello", "no conflict found"},
		{"bytes", "\x00\xff\xfe", "no conflict found"},
		{"a stale write", status("409", "Conflict", stale), "a stale write, not an apply conflict"},
		{"a stale write as kubectl prints it, with advice that does not help", "error: " + strings.ReplaceAll(stale, `\`, "") + "\n" + advice, "a stale write, not an apply conflict"},
		{"a uid that is another's", status("409", "Conflict", "Precondition failed: UID in precondition: a, UID in object meta: b"), "not an apply conflict: Conflict"},
		{"HTTP 409 for another reason", status("409", "Gone", ""), "not an apply conflict: Gone"},
		{"a create", status("409", "AlreadyExists", "configmaps \\\"a\\\" already exists"), "the input reports AlreadyExists"},
		{"a create, printed", `Error from server (AlreadyExists): error when creating "f": configmaps "a" already exists`, "the input reports AlreadyExists"},
		{"refused", status("422", "Invalid", "hunter2"), "not an apply conflict: Invalid"},
		{"refused, printed", `Error from server (Forbidden): hunter2`, "not an apply conflict: Forbidden"},
		{"refused, printed without a reason", `Error from server: hunter2`, "a response of the API server, but not an apply conflict"},
		{"a manager in quotes that Go does not write", `Apply failed with 1 conflict: conflict with 'm': .data.x`, "a quoted name is expected"},
		{"cut off in the list", "Apply failed with 3 conflicts: conflicts with \"a\":\n- .x\n- .y\n", "line 1: the conflict message is cut off: it announces 3 conflicts but lists 2"},
		{"cut off behind the head", "x\nApply failed with 3 conflicts: conflicts with \"a\":", "line 2: the conflict message is cut off: it announces 3 conflicts but lists 0"},
		{"cut off before the path", `Apply failed with 1 conflict: conflict with "a" using v1: `, "lists 0"},
		{"cut off in the manager", `Apply failed with 1 conflict: conflict with "a`, "expected a quoted name"},
		{"cut off behind the manager", `Apply failed with 1 conflict: conflict with "a" using`, "expected a colon"},
		{"cut off behind a subresource", `Apply failed with 1 conflict: conflict with "a" with subresource "s`, "expected a quoted name"},
		{"cut off in the second manager", "Apply failed with 2 conflicts: conflicts with \"a\":\n- .x\nconflicts with \"b", "expected a quoted name"},
		{"cut off before the manager", `Apply failed with 1 conflict: `, `expected "conflict with" and the name of a manager`},
		{"quoted and cut off", `err="Apply failed with 1 conflict: conflict with \"a\"`, "cannot be read"},
	} {
		explanations, err := explain.Answer([]byte(c.answer), nil, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || explanations != nil {
			t.Errorf("%s: %v, %v; want an error with %q", c.reason, explanations, err, c.want)
			continue
		}
		if strings.ContainsAny(err.Error(), "\n\x00") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %q has several lines or repeats what may quote values", c.reason, err)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{statusJSON, "error: " + twoOfOne + advice, `{"e":"` + strings.ReplaceAll(twoOfOne, "\n", `\n`) + `"}`, "a: [", "---\n{}", noConflict} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		explanations, err := explain.Answer([]byte(answer), nil, nil)
		if (err == nil) != (len(explanations) > 0) {
			t.Errorf("%d explanations, %v", len(explanations), err)
		}
		for _, e := range explanations {
			if len(e.Conflicts) == 0 || len(e.Ways) != 3 {
				t.Errorf("%+v", e)
			}
			if text := e.String(); utf8.ValidString(answer) && !utf8.ValidString(text) {
				t.Errorf("%q", text)
			}
		}
	})
}
