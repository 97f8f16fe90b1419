package steady

import "testing"

// sweepModels is a schema with a field for each way in which values are merged.
const sweepModels = `
Gadget:
  type: object
  x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Gadget}]
  properties:
    apiVersion: {type: string}
    kind: {type: string}
    metadata: {type: object, properties: {name: {type: string}}}
    spec:
      type: object
      properties:
        text: {type: string}
        labels: {type: object, additionalProperties: {type: string}}
        parts:
          type: array
          x-kubernetes-list-type: map
          x-kubernetes-list-map-keys: [name]
          items: {type: object, properties: {name: {type: string}, value: {type: string}}}
        tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
        args: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}
        nested: {type: object, properties: {a: {type: string}, deep: {type: object, properties: {b: {type: string}}}}}
        whole: {type: object, x-kubernetes-map-type: atomic, properties: {a: {type: string}, b: {type: string}}}
`

// sweepField is a field of the spec, with the values that a sweep gives it, as YAML. The first value omits the field.
type sweepField struct {
	name   string
	values []string
	want   sweepCount
}

var sweepFields = []sweepField{
	{"text", []string{"", "null", `""`, "a", "b"}, sweepCount{states: 54, cases: 270, noops: 54, byRead: 28, byAnswer: 54}},
	{"labels", []string{"", "null", "{}", "{a: x}", "{a: z}", "{a: x, b: x}"}, sweepCount{states: 208, cases: 1248, noops: 240, byRead: 172, byAnswer: 240}},
	{"parts", []string{"", "null", "[]", "[{name: a}]", "[{name: a, value: x}]", "[{name: a, value: z}, {name: b}]", "[{name: b}, {name: a, value: z}]"}, sweepCount{states: 370, cases: 2590, noops: 447, byRead: 244, byAnswer: 447}},
	{"tags", []string{"", "null", "[]", "[x]", "[x, z]", "[z, x]"}, sweepCount{states: 212, cases: 1272, noops: 271, byRead: 140, byAnswer: 271}},
	{"args", []string{"", "null", "[]", "[x]", "[x, z]"}, sweepCount{states: 54, cases: 270, noops: 54, byRead: 28, byAnswer: 54}},
	{"nested", []string{"", "null", "{}", "{a: x}", "{a: x, deep: {}}", "{deep: null}", "{deep: {b: x}}"}, sweepCount{states: 404, cases: 2828, noops: 461, byRead: 340, byAnswer: 457}},
	{"whole", []string{"", "null", "{}", "{a: x}", "{a: x, b: z}"}, sweepCount{states: 54, cases: 270, noops: 54, byRead: 28, byAnswer: 54}},
}

// sweepCount counts applies. Some of the applies that change nothing are proven by a read of the object. Others are
// proven only by the response to a write: the applies of an intent that owns nothing.
type sweepCount struct{ states, cases, noops, byRead, byAnswer int }

// TestSweep tries every apply of one field on every object that up to three writes of two appliers and an updater
// produce. It compares the proof with the result of structured-merge-diff's Updater. A no-op that even a response
// does not prove sets an empty map where the object has null or an empty map without an owner.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := newSweep(t)
	for _, field := range sweepFields {
		var configs []string
		for _, value := range field.values {
			configs = append(configs, sweepSpec(field.name, value))
		}
		if got := s.all(configs, 3); got != field.want {
			t.Errorf("%s: %+v, want %+v", field.name, got, field.want)
		}
	}
}

// TestSweepPairs is TestSweep for two fields at once, with three values each and up to two writes.
func TestSweepPairs(t *testing.T) {
	t.Parallel()
	s := newSweep(t)
	var all sweepCount
	for i, one := range sweepFields {
		for _, other := range sweepFields[:i] {
			var configs []string
			for _, of := range one.few() {
				for _, with := range other.few() {
					configs = append(configs, sweepSpec(one.name, of, other.name, with))
				}
			}
			all.add(s.all(configs, 2))
		}
	}
	if want := (sweepCount{states: 3877, cases: 34893, noops: 5069, byRead: 2339, byAnswer: 5069}); all != want {
		t.Errorf("%+v, want %+v", all, want)
	}
}

// few returns three values: no value, an empty value, and a value that is not empty.
func (f sweepField) few() []string {
	return []string{f.values[0], f.values[2], f.values[len(f.values)-1]}
}

// sweepSpec returns a spec with fields, given as names and values.
func sweepSpec(fields ...string) string {
	set := ""
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] != "" {
			set += fields[i] + ": " + fields[i+1] + ", "
		}
	}
	if set == "" {
		return ""
	}
	return "spec: {" + set + "}"
}

func (c *sweepCount) add(other sweepCount) {
	c.states += other.states
	c.cases += other.cases
	c.noops += other.noops
	c.byRead += other.byRead
	c.byAnswer += other.byAnswer
}

// all tries each configuration on each state that some writes of these configurations produce.
func (s *sweep) all(configs []string, writes int) (count sweepCount) {
	states := s.states(configs, writes)
	count.states = len(states)
	for _, state := range states {
		read := s.read(state)
		for _, fields := range configs {
			s.ask(&count, state, read, fields)
		}
	}
	return count
}

// ask compares the proof and the Updater for one apply.
func (s *sweep) ask(count *sweepCount, state sweepState, read Read, fields string) {
	count.cases++
	after, err := s.apply(state, fields, sweepUs, false)
	noop := err == nil && after.String() == state.String()
	object, _ := s.config(fields).AsValue().Unstructured().(map[string]any)
	request := Request{Manager: sweepUs, Kind: gadgetKind, Config: object}
	_, byRead := request.Prove(read, known(s.schemas))
	read.Answer = true
	_, byAnswer := request.Prove(read, known(s.schemas))
	switch {
	case !noop && (byRead == nil || byAnswer == nil):
		s.Errorf("proven, and not so: %s applied to %s becomes %s, %v", fields, state, after, err)
	case byRead == nil && byAnswer != nil:
		s.Errorf("proven by a read, and not by an answer: %s applied to %s: %v", fields, state, byAnswer)
	case noop:
		count.noops++
		if byRead == nil {
			count.byRead++
		}
		if byAnswer == nil {
			count.byAnswer++
		}
	}
}
