package update

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// job is a Go type that lacks the fields named future.
type job struct {
	thing

	Parts []part `json:"parts,omitempty"` // a map by name
	Ports []port `json:"ports,omitempty"` // a map by port and protocol
	Steps []part `json:"steps,omitempty"` // atomic
	Tags  []tag  `json:"tags,omitempty"`  // a set
}

type (
	tag  string
	part struct {
		Name string            `json:"name,omitempty"`
		Size resource.Quantity `json:"size,omitzero"`
		On   bool              `json:"on,omitempty"`
		Sub  []part            `json:"sub,omitempty"` // atomic
	}
	port struct {
		Port     int    `json:"port"`
		Protocol string `json:"protocol,omitempty"` // TCP by default
		Comment  string `json:"comment,omitempty"`
	}
)

func (j *job) DeepCopyObject() runtime.Object {
	copied := *j
	copied.Parts, copied.Ports, copied.Steps, copied.Tags = slices.Clone(j.Parts), slices.Clone(j.Ports), slices.Clone(j.Steps), slices.Clone(j.Tags)
	return &copied
}

const jobSchema = `types:
- name: job
  map:
    fields:
    - name: parts
      type: {list: {elementType: {namedType: part}, elementRelationship: associative, keys: [name]}}
    - name: ports
      type: {list: {elementType: {namedType: port}, elementRelationship: associative, keys: [port, protocol]}}
    - name: steps
      type: {list: {elementType: {namedType: part}, elementRelationship: atomic}}
    - name: tags
      type: {list: {elementType: {scalar: string}, elementRelationship: associative}}
- name: part
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - name: sub
      type: {list: {elementType: {namedType: part}, elementRelationship: atomic}}
- name: port
  map:
    fields:
    - {name: port, type: {scalar: numeric}}
    - {name: protocol, type: {scalar: string}, default: TCP}
`

// jobs returns the schema of a job, and counts the calls.
func jobs(t *testing.T, asked *int) func() (*typed.TypedValue, error) {
	parser, err := typed.NewParser(jobSchema)
	if err != nil {
		t.Fatal(err)
	}
	return func() (*typed.TypedValue, error) {
		*asked++
		return parser.Type("job").FromYAML("{}")
	}
}

func unknownSchema() (*typed.TypedValue, error) { return nil, errNoSchemas }

// TestNarrowItems: a list item is matched with a live item by equality or by its keys only.
func TestNarrowItems(t *testing.T) {
	for _, test := range []struct {
		reason, live string
		change       func(*job)
		unknown      bool   // the schema
		want         string // or else
		refused      string // the field, and why
		asked        int    // for the schema
	}{
		{
			reason: "a changed item is found by its key, and keeps what the Go type does not show",
			live:   `{"parts":[{"name":"a","size":"1024Mi","on":false,"future":1},{"name":"b","future":2}]}`,
			change: func(j *job) { j.Parts[0].On = true },
			want:   `{"parts":[{"name":"a","size":"1024Mi","on":true,"future":1},{"name":"b","future":2}]}`, asked: 1,
		},
		{
			reason: "however much of it was changed, and whatever comes, goes or moves beside it",
			live:   `{"parts":[{"name":"gone","size":"1","future":0},{"name":"a","future":1},{"name":"b","future":2}]}`,
			change: func(j *job) {
				j.Parts = []part{j.Parts[2], {Name: "new", Size: resource.MustParse("1")}, {Name: "a", On: true, Size: resource.MustParse("5")}}
			},
			want: `{"parts":[{"name":"b","future":2},{"name":"new","size":"1"},{"name":"a","size":"5","on":true,"future":1}]}`, asked: 1,
		},
		{
			reason: "an item with another key is another item, though all else is equal",
			live:   `{"parts":[{"name":"a","size":"1","on":true,"future":{"privileged":true}}]}`,
			change: func(j *job) { j.Parts[0].Name = "b" },
			want:   `{"parts":[{"name":"b","size":"1","on":true}]}`, asked: 1,
		},
		{
			reason: "a key that is missing has the server's default",
			live:   `{"ports":[{"port":53,"protocol":"UDP","future":"u"},{"port":53,"protocol":"TCP","future":"t"}]}`,
			change: func(j *job) { j.Ports = []port{{Port: 53, Comment: "c"}} },
			want:   `{"ports":[{"port":53,"future":"t","comment":"c"}]}`, asked: 1,
		},
		{
			reason: "two items with the same keys are not told apart",
			live:   `{"parts":[{"name":"a","future":1},{"name":"a","on":true}]}`,
			change: func(j *job) { j.Parts[0].Size = resource.MustParse("1") }, refused: `.parts[0].future "two items have the same keys"`, asked: 1,
		},
		{
			reason: "a changed item of an atomic list is sent as it is",
			live:   `{"steps":[{"name":"a","size":"1024Mi","on":false},{"name":"b","size":"1024Mi"}]}`,
			change: func(j *job) { j.Steps[0].On = true },
			want:   `{"steps":[{"name":"a","size":"1Gi","on":true},{"name":"b","size":"1024Mi"}]}`, asked: 1,
		},
		{
			reason: "unless the live item has a field that the Go type lacks",
			live:   `{"steps":[{"name":"a"},{"name":"b","future":1}]}`,
			change: func(j *job) { j.Steps[1].On = true }, refused: `.steps[1].future "the list has no keys in the API server's schema"`, asked: 1,
		},
		{
			reason: "anywhere below it",
			live:   `{"steps":[{"name":"a","sub":[{"name":"b"},{"future":1}]}]}`,
			change: func(j *job) { j.Steps[0].On = true }, refused: `.steps[0].sub[1].future "the list has no keys in the API server's schema"`, asked: 1,
		},
		{
			reason: "also if the item was replaced: nobody knows",
			live:   `{"steps":[{"name":"a","future":1}]}`,
			change: func(j *job) { j.Steps = []part{{Name: "b"}} }, refused: `.steps[0].future "the list has no keys in the API server's schema"`, asked: 1,
		},
		{
			reason: "an item of an atomic list can be removed, and others move",
			live:   `{"steps":[{"name":"a","future":1},{"name":"b","future":2},{"name":"c","future":3}]}`,
			change: func(j *job) { j.Steps = []part{j.Steps[2], j.Steps[0]} },
			want:   `{"steps":[{"name":"c","future":3},{"name":"a","future":1}]}`,
		},
		{
			reason: "all can be",
			live:   `{"steps":[{"name":"a","future":1}],"tags":["x"]}`,
			change: func(j *job) { j.Steps, j.Tags = nil, nil },
			want:   `{}`,
		},
		{
			reason: "one can be added",
			live:   `{"steps":[{"name":"a","future":1}]}`,
			change: func(j *job) { j.Steps = append([]part{{Name: "b"}}, j.Steps...) },
			want:   `{"steps":[{"name":"b"},{"name":"a","future":1}]}`,
		},
		{
			reason: "one of two items that are equal in Go alone cannot be removed",
			live:   `{"steps":[{"name":"a"},{"name":"b"},{"name":"a","future":1}]}`,
			change: func(j *job) { j.Steps = j.Steps[1:] }, refused: `.steps[2].future "two items are equal in all fields that the Go type has"`,
		},
		{
			reason: "of two that are equal it can",
			live:   `{"steps":[{"name":"a","future":1},{"name":"b","future":2},{"name":"a","future":1}]}`,
			change: func(j *job) { j.Steps = j.Steps[1:] },
			want:   `{"steps":[{"name":"b","future":2},{"name":"a","future":1}]}`,
		},
		{
			reason: "of two that differ in form it can",
			live:   `{"steps":[{"size":"1024Mi"},{"size":"1Gi"}]}`,
			change: func(j *job) { j.Steps = j.Steps[1:] },
			want:   `{"steps":[{"size":"1024Mi"}]}`,
		},
		{
			reason: "an item with another form of the same quantity did not change",
			live:   `{"steps":[{"size":"1k","future":1},{"name":"b"}]}`,
			change: func(j *job) { j.Steps[0].Size, j.Steps[1].On = resource.MustParse("1e3"), true },
			want:   `{"steps":[{"size":"1k","future":1},{"name":"b","on":true}]}`,
		},
		{
			reason: "items of a set are equal or not",
			live:   `{"tags":["z","a","a"]}`,
			change: func(j *job) { j.Tags = []tag{"a", "new"} },
			want:   `{"tags":["a","new"]}`,
		},
		{
			reason: "what the Go type shows as it is needs no schema", unknown: true,
			live:   `{"parts":[{"name":"a","size":"1024Mi","future":1},{"name":"b","size":"1"}]}`,
			change: func(j *job) { j.Parts[1].On = true },
			want:   `{"parts":[{"name":"a","size":"1024Mi","future":1},{"name":"b","size":"1","on":true}]}`,
		},
		{
			reason: "without the schema an item with a key is one without", unknown: true,
			live:   `{"parts":[{"name":"a","size":"1024Mi"}]}`,
			change: func(j *job) { j.Parts[0].On = true },
			want:   `{"parts":[{"name":"a","size":"1Gi","on":true}]}`,
		},
		{
			reason: "and refused as such", unknown: true,
			live:   `{"parts":[{"name":"a","future":1}]}`,
			change: func(j *job) { j.Parts[0].On = true }, refused: `.parts[0].future "` + errNoSchemas.Error() + `"`,
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			asked := 0
			n := narrowing{schema: jobs(t, &asked)}
			if test.unknown {
				n.schema = unknownSchema
			}
			live := &unstructured.Unstructured{Object: parsed(t, test.live).(map[string]any)}
			before, after := &job{}, &job{}
			for _, into := range []*job{before, after} {
				if err := decode(live, into); err != nil {
					t.Fatal(err)
				}
			}
			test.change(after)
			wanted, err := n.narrow(live, before, after)
			if asked != test.asked {
				t.Errorf("asked %d times for the schema, want %d", asked, test.asked)
			}
			if test.refused != "" {
				wantRefused(t, err, test.refused)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			delete(wanted.Object, "metadata")
			delete(wanted.Object, "sizes")
			if diff := cmp.Diff(parsed(t, test.want), any(wanted.Object)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func wantRefused(t *testing.T, err error, refused string) {
	t.Helper()
	if !errors.Is(err, ErrUnknownField) {
		t.Fatalf("%v, want a refusal", err)
	}
	field, why, _ := strings.Cut(refused, " ")
	for _, part := range []string{"could drop " + field + ",", "(" + strings.Trim(why, `"`) + ")", "*update.job", "*unstructured.Unstructured"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: there is no %s in it", err, part)
		}
	}
}
