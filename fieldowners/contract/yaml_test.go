package contract_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/fieldowners/contract"
)

// full is sorted as Write sorts.
var full = contract.Contract{
	{Manager: "a", Kind: node, Applies: []string{`.metadata.annotations["example.com/a: b"]`, ".spec.taints"}, Shared: map[string]string{
		".spec.taints": "both: mean it # really",
	}, Selector: "app=shop,!test"},
	{Manager: "a", Kind: deployment, Applies: []string{`.spec.template.spec.containers[name="web"].image`}, Updates: []string{`.metadata.finalizers[="x"]`, ".status"}},
	{Manager: "true", Kind: node, Updates: []string{`["odd"].x`, ".spec.taints"}},
}

func written(t *testing.T, c contract.Contract) string {
	t.Helper()
	var text bytes.Buffer
	if err := contract.Write(&text, c); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestRoundTrip(t *testing.T) {
	unsorted := full[0]
	unsorted.Applies = []string{full[0].Applies[1], full[0].Applies[0]}
	text := written(t, contract.Contract{full[2], full[1], unsorted})
	read, err := contract.Read(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	// A path is kept as it was written.
	if diff := cmp.Diff(full, read); diff != "" {
		t.Errorf("read (-want +got):\n%s\n%s", diff, text)
	}
	if again := written(t, read); again != text {
		t.Errorf("written again (-want +got):\n%s", cmp.Diff(text, again))
	}
}

func TestWriteChecks(t *testing.T) {
	var text bytes.Buffer
	if err := contract.Write(&text, contract.Contract{{Manager: "a", Kind: node}}); err == nil || text.Len() > 0 {
		t.Errorf("%v, wrote %q", err, &text)
	}
}

func TestWriteFails(t *testing.T) {
	reader, writer := io.Pipe()
	_ = reader.Close()
	if err := contract.Write(writer, full); err == nil {
		t.Error("no error")
	}
}

func TestReadRefuses(t *testing.T) {
	const valid = "managers:\n  a:\n    Node:\n      applies:\n      - .spec.taints\n"
	if _, err := contract.Read(strings.NewReader(valid)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ reason, text, want string }{
		{"empty", "", "contract: empty; it begins with \"managers:\""},
		{"a comment", "# nothing\n", "contract: empty"},
		{"no YAML", "managers:\n  a: b: c\n", "line 2: not YAML: mapping values"},
		{"a tab", "managers:\n\ta: b\n", "line 2: not YAML: "},
		{"what YAML cannot have on any line", "managers: \x01\n", "not YAML: control characters"},
		{"no YAML in a second document", valid + "---\na: b: c\n", "line 7: not YAML: mapping values"},
		{"another thing", "- a\n", "line 1: contract: a contract: want a mapping"},
		{"another word", valid + "owners: {}\n", `line 6: contract: "owners" is not of a contract`},
		{"no managers", "managers: {}\n", "line 1: contract: names no field manager"},
		{"nothing", "managers:\n", "line 1: contract: managers: want a mapping"},
		{"two documents", valid + "---\n" + valid, "line 6: contract: a second document"},
		{"a manager twice", valid + "  a:\n    Pod:\n      applies: [.spec]\n", `line 6: contract: managers: "a" for the second time; the first is on line 2`},
		{"a list for a name", "managers:\n  ? [a]\n  : {}\n", "line 2: contract: managers: want a name for a key"},
		{"a kind twice", valid + "    Node:\n      updates: [.spec]\n", `line 6: contract: "a": "Node" for the second time; the first is on line 3`},
		{"a list for a manager", "managers:\n  a: [Node]\n", `line 2: contract: "a": want a mapping`},
		{"another word of a claim", valid + "      deletes: [.spec]\n", `line 6: contract: "a", Node: "deletes" is not of a claim; it has applies:, updates:, shared: and selector:`},
		{"one path", valid + "      updates: .spec\n", `line 6: contract: "a", Node, updates: want a list of paths`},
		{"a list for a path", valid + "      - [x]\n", `line 6: contract: "a", Node, applies: want a path`},
		{"a bad path", valid + "      - .spec[\n", `line 6: contract: "a", Node, .spec[: not a path: at offset 6: `},
		{"the whole object", valid + "      - ''\n", `line 6: contract: "a", Node, "": an empty path`},
		{"a path twice", valid + "      - .spec.taints\n", `line 6: contract: "a", Node, .spec.taints: claimed twice`},
		{"no path", "managers:\n  a:\n    Node: {}\n", `line 3: contract: "a", Node: claims no path`},
		{"an empty kind", "managers:\n  a:\n    '': {applies: [.x]}\n", `line 3: contract: "a": an empty kind`},
		{"a bad kind", "managers:\n  a:\n    apps/v1: {applies: [.x]}\n", `line 3: contract: "a", apps/v1: "apps/v1" is no kind`},
		{"an overlap", valid + "  b:\n    Node:\n      applies:\n      - .spec\n", `line 9: contract: "b", Node, .spec: a claims .spec.taints as well`},
		{"shared without a reason", valid + "      shared: {.spec.taints: ''}\n", `line 6: contract: "a", Node, .spec.taints: shared without a reason`},
		{"shared as a list", valid + "      shared: [.spec.taints]\n", `line 6: contract: "a", Node, shared: want a mapping`},
		{"a list for a reason", valid + "      shared: {.spec.taints: [x]}\n", `line 6: contract: "a", Node, .spec.taints: want a sentence`},
	} {
		c, err := contract.Read(strings.NewReader(test.text))
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
		if wrong := (*contract.ReadError)(nil); c != nil || !errors.As(err, &wrong) {
			t.Errorf("%s: %v beside %T", test.reason, c, err)
		}
	}
}

// TestReadTellsAll: the errors are in the order of lines, each once.
func TestReadTellsAll(t *testing.T) {
	_, err := contract.Read(strings.NewReader("managers:\n  a:\n    Node:\n      applies:\n      - .spec[\n      - .status\n      - [x]\nowners: {}\n"))
	var lines []string
	for line := range strings.SplitSeq(fmt.Sprint(err), "\n") {
		lines = append(lines, line[:len("line 0")])
	}
	if diff := cmp.Diff([]string{"line 5", "line 7", "line 8"}, lines); diff != "" {
		t.Errorf("(-want +got):\n%s\n%v", diff, err)
	}
}

// FuzzRead: nothing that is read panics, and what is read is written and read again.
func FuzzRead(f *testing.F) {
	f.Add("managers:\n  a:\n    Node:\n      applies:\n      - .spec.taints\n      shared: {.spec.taints: why}\n")
	f.Add("managers: {? [a] : b, <<: *x, a: &x {Pod: {updates: [!!int 3]}}}")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := contract.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		first := written(t, c)
		again, err := contract.Read(strings.NewReader(first))
		if err != nil {
			t.Fatalf("%v:\n%s", err, first)
		}
		if second := written(t, again); second != first {
			t.Errorf("another text:\n%s\n%s", first, second)
		}
	})
}
