package oracle

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"coapply.dev/compare/history"
)

// store is a correct store with writers whose operations overlap. It can be told to do wrong, and counts how often it
// did.
type store struct {
	t *rapid.T
	history.History
	now      time.Duration
	revision uint64
	objects  map[string]map[string]string
	// past are the values that fields had, by object and field.
	past map[[2]string][]string
	// running are the operations that have begun, with the increments among them that have read.
	running []history.Operation
	// owner is the writer that set a field last, by object and field.
	owner map[[2]string]int
	// lost, stolen and increments are what it did.
	lost, stolen, increments int
	faults                   bool
	serial                   int
}

const counter = "n"

func simulate(t *rapid.T, faults bool) *store {
	s := &store{
		t: t, faults: faults, revision: 100, objects: map[string]map[string]string{}, past: map[[2]string][]string{},
		owner: map[[2]string]int{},
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "objects") {
		name := fmt.Sprint("ConfigMap/n/", i)
		s.objects[name] = map[string]string{"a": "a0", "b": "b0", counter: "0"}
		s.version(name)
	}
	for range rapid.IntRange(0, 60).Draw(t, "steps") {
		s.now += time.Duration(rapid.IntRange(1, 3).Draw(t, "time"))
		if len(s.running) < 5 && rapid.Bool().Draw(t, "begin") {
			s.begin()
		} else if len(s.running) > 0 {
			s.end(rapid.IntRange(0, len(s.running)-1).Draw(t, "which"))
		}
	}
	for len(s.running) > 0 {
		s.now++
		s.end(0)
	}
	return s
}

// version keeps the object as it is now.
func (s *store) version(name string) {
	s.revision += uint64(rapid.IntRange(1, 3).Draw(s.t, "revisions"))
	s.Versions = append(s.Versions, history.Version{Object: name, Revision: s.revision, Fields: maps.Clone(s.objects[name])})
}

func (s *store) begin() {
	writer := rapid.IntRange(0, 4).Draw(s.t, "writer")
	name := rapid.SampledFrom(sortedKeys(s.objects)).Draw(s.t, "object")
	o := history.Operation{Writer: writer, Object: name, Manager: fmt.Sprint("m", writer%3), Begin: s.now, Sequence: s.serial}
	s.serial++
	switch rapid.IntRange(0, 5).Draw(s.t, "what") {
	case 0:
		o.Increments = counter
	case 1:
		o.Wants = map[string]string{"a": s.unique(), "b": s.unique()}
	case 2:
		o.Wants = map[string]string{fmt.Sprint("w", writer): ""}
	default:
		o.Wants = map[string]string{rapid.SampledFrom([]string{"a", "b", fmt.Sprint("w", writer)}).Draw(s.t, "field"): s.unique()}
	}
	s.running = append(s.running, o)
}

func (s *store) unique() string {
	s.serial++
	return fmt.Sprint("v", s.serial)
}

// end commits an operation, or not, and answers it, or not.
func (s *store) end(i int) {
	o := s.running[i]
	s.running = append(s.running[:i:i], s.running[i+1:]...)
	outcomes := []history.Outcome{
		history.Landed, history.Landed, history.Landed, history.Unknown, history.Noted, history.GaveUp, history.Failed,
	}
	if s.faults && (o.Increments != "" || removesAll(o)) {
		// A step or a removal without an answer leaves open whose it was: what is lost is counted at the least then.
		outcomes = []history.Outcome{history.Landed}
	}
	o.Outcome = rapid.SampledFrom(outcomes).Draw(s.t, "outcome")
	lands := o.Outcome == history.Landed || o.Outcome == history.Noted || o.Outcome == history.Unknown && rapid.Bool().Draw(s.t, "lands")
	if lands {
		s.commit(&o)
	}
	s.now++
	o.End = s.now
	if o.Outcome != history.Landed {
		o.Revision = ""
	}
	s.Operations = append(s.Operations, o)
}

// commit writes what the operation wants. What changes nothing is answered with the last revision of the object.
func (s *store) commit(o *history.Operation) {
	live := s.objects[o.Object]
	before := maps.Clone(live)
	for field, value := range o.Wants {
		s.write(o, field, value)
	}
	if o.Increments != "" {
		n, _ := strconv.Atoi(live[counter])
		s.write(o, counter, strconv.Itoa(n+1))
	}
	if s.faults && o.Outcome == history.Landed && rapid.IntRange(0, 2).Draw(s.t, "fault") == 0 {
		s.wrong(o, before)
	}
	if maps.Equal(before, live) {
		o.Revision = strconv.FormatUint(s.last(o.Object).Revision, 10)
		return
	}
	s.version(o.Object)
	o.Revision = strconv.FormatUint(s.revision, 10)
}

func (s *store) last(name string) history.Version {
	for i := len(s.Versions) - 1; ; i-- {
		if s.Versions[i].Object == name {
			return s.Versions[i]
		}
	}
}

func (s *store) write(o *history.Operation, field, value string) {
	live, key := s.objects[o.Object], [2]string{o.Object, field}
	was := live[field]
	if was == value {
		return
	}
	if owner, known := s.owner[key]; known && was != "" && field != counter && owner%3 != o.Writer%3 {
		s.stolen++
	}
	if was != "" {
		s.past[key] = append(s.past[key], was)
	}
	live[field] = value
	if s.owner[key] = o.Writer; value == "" {
		delete(live, field)
	}
}

// wrong has the write of an operation do one thing that no operation wants.
func (s *store) wrong(o *history.Operation, before map[string]string) {
	live := s.objects[o.Object]
	if o.Increments != "" {
		live[counter] = before[counter]
		s.increments++
		return
	}
	for _, field := range sorted(before) {
		key := [2]string{o.Object, field}
		if _, wants := o.Wants[field]; wants || field == counter || live[field] == "" || s.removing(o.Object, field) {
			continue
		}
		if past := s.past[key]; len(past) > 0 && rapid.Bool().Draw(s.t, "back") {
			if back := rapid.SampledFrom(past).Draw(s.t, "to"); back != live[field] {
				s.past[key] = append(past, live[field])
				live[field] = back
				delete(s.owner, key)
				s.lost++
				return
			}
		}
		owner, known := s.owner[key]
		own := known && owner%3 == o.Writer%3
		if own && maps.Equal(before, live) {
			continue // it could be the write of any that was answered with this version
		}
		s.past[key] = append(s.past[key], live[field])
		delete(live, field)
		if own {
			s.owner[key] = o.Writer // its own manager has given it up
			return
		}
		delete(s.owner, key)
		s.lost++
		return
	}
}

func sortedKeys(objects map[string]map[string]string) []string {
	names := []string{}
	for i := range len(objects) {
		names = append(names, fmt.Sprint("ConfigMap/n/", i))
	}
	return names
}

// removing tells that an operation is about to remove a field: should it be gone already, nobody can tell by whom.
func (s *store) removing(name, field string) bool {
	for _, o := range s.running {
		if value, wants := o.Wants[field]; wants && value == "" && o.Object == name {
			return true
		}
	}
	return false
}
