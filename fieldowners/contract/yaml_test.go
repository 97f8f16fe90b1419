package contract_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/fieldowners/contract"
)

// full is sorted as Write sorts.
var full = contract.Contract{
	{Manager: "a", Kind: deployment, Applies: []string{`.spec.template.spec.containers[name="web"].image`}, Updates: []string{`.metadata.finalizers[="x"]`, ".status"}},
	{Manager: "a", Kind: node, Applies: []string{`.metadata.annotations["example.com/a: b"]`, ".spec.taints"}, Shared: map[string]string{
		".spec.taints": "both: mean it # really",
	}, Selector: "app=shop,!test"},
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
	unsorted := full[1]
	unsorted.Applies = []string{full[1].Applies[1], full[1].Applies[0]}
	text := written(t, contract.Contract{full[2], full[0], unsorted})
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
		{"empty", "", `contract: the key "managers" is missing or lists no field manager`},
		{"a comment", "# nothing\n", `contract: the key "managers" is missing`},
		{"no YAML", "managers:\n  a: b: c\n", "line 2: mapping values"},
		{"a tab", "managers:\n\ta: b\n", "line 2: "},
		{"control characters", "managers: \x01\n", "control characters"},
		{"another thing", "- a\n", "cannot unmarshal array"},
		{"another word", valid + "owners: {}\n", `unknown field "owners"`},
		{"no managers", "managers: {}\n", `contract: the key "managers" is missing`},
		{"nothing", "managers:\n", `contract: the key "managers" is missing`},
		{"two documents", valid + "---\n" + valid, "contract: the text has more than one YAML document"},
		{"a manager twice", valid + "  a:\n    Pod:\n      applies: [.spec]\n", `key "a" already set`},
		{"a kind twice", valid + "    Node:\n      updates: [.spec]\n", `key "Node" already set`},
		{"a list for a manager", "managers:\n  a: [Node]\n", "cannot unmarshal array"},
		{"another word of a claim", valid + "      deletes: [.spec]\n", `unknown field "managers.a.Node.deletes"; the key of a contract is "managers", and the keys of a claim are "applies",`},
		{"one path", valid + "      updates: .spec\n", "cannot unmarshal string"},
		{"a list for a path", valid + "      - [x]\n", "cannot unmarshal array"},
		{"a bad path", valid + "      - .spec[\n", `contract: "a", Node, .spec[: malformed path: at offset 6: `},
		{"the whole object", valid + "      - ''\n", `contract: "a", Node, "": the path is empty`},
		{"a path twice", valid + "      - .spec.taints\n", `contract: "a", Node, .spec.taints: the path is claimed twice`},
		{"no path", "managers:\n  a:\n    Node: {}\n", `contract: "a", Node: the claim has no path`},
		{"an empty kind", "managers:\n  a:\n    '': {applies: [.x]}\n", `contract: "a", no kind`},
		{"a bad kind", "managers:\n  a:\n    apps/v1: {applies: [.x]}\n", `contract: "a", apps/v1: "apps/v1" is not a valid kind`},
		{"an overlap", valid + "  b:\n    Node:\n      applies:\n      - .spec\n", `contract: "b", Node, .spec: a claims .spec.taints as well`},
		{"shared without a reason", valid + "      shared: {.spec.taints: ''}\n", `contract: "a", Node, .spec.taints: the path is shared without a reason`},
		{"shared as a list", valid + "      shared: [.spec.taints]\n", "cannot unmarshal array"},
	} {
		c, err := contract.Read(strings.NewReader(test.text))
		if c != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %v, want %q", test.reason, c, err, test.want)
		}
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
