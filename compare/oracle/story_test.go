package oracle

import (
	"strconv"
	"time"

	"coapply.dev/compare/history"
)

// story writes histories by hand. All operations are concurrent unless at says otherwise.
type story struct{ history.History }

const object = "ConfigMap/n/a"

// is adds a version: field, value, field, value...
func (s *story) is(revision uint64, pairs ...string) *story {
	s.Versions = append(s.Versions, history.Version{Object: object, Revision: revision, Fields: fields(pairs)})
	return s
}

func (s *story) gone(revision uint64) *story {
	s.Versions = append(s.Versions, history.Version{Object: object, Revision: revision, Deleted: true, Fields: fields([]string{"a", "last"})})
	return s
}

// did adds an operation of a writer, whose field manager has its number, that was acknowledged at the revision.
func (s *story) did(writer int, revision uint64, pairs ...string) *story {
	return s.add(writer, history.Landed, strconv.FormatUint(revision, 10), pairs)
}

// tried adds one that was not acknowledged.
func (s *story) tried(writer int, outcome history.Outcome, pairs ...string) *story {
	return s.add(writer, outcome, "", pairs)
}

// counted adds an acknowledged increment of n.
func (s *story) counted(writer int, revision uint64) *story {
	s.did(writer, revision)
	s.last().Increments = "n"
	return s
}

func (s *story) add(writer int, outcome history.Outcome, revision string, pairs []string) *story {
	s.Operations = append(s.Operations, history.Operation{
		Writer: writer, Sequence: len(s.Operations), Object: object, Manager: strconv.Itoa(writer), Wants: fields(pairs),
		Outcome: outcome, Revision: revision,
	})
	return s
}

func (s *story) last() *history.Operation { return &s.Operations[len(s.Operations)-1] }

func (s *story) skipped() *story {
	s.last().Skipped = true
	return s
}

func (s *story) increments() *story {
	s.last().Increments = "n"
	return s
}

// as gives the last operation another field manager.
func (s *story) as(manager string) *story {
	s.last().Manager = manager
	return s
}

// at gives the last operation its time.
func (s *story) at(begin, end time.Duration) *story {
	s.last().Begin, s.last().End = begin, end
	return s
}

func fields(pairs []string) map[string]string {
	if len(pairs) == 0 {
		return nil
	}
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}
