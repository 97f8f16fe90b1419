package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Event identifies an event of a watch within a run.
type Event struct {
	Resource string // plural, as in the URL
	Type     string
	N        int // number of the event among those of the resource, from 1
}

func (e Event) String() string { return fmt.Sprintf("%s %s #%d", e.Resource, e.Type, e.N) }

// EventFault is a fault of one event.
type EventFault string

// Faults of an event.
const (
	Held EventFault = "held" // the event and all later events of its watch are delayed until Release
	Lost EventFault = "lost" // the event is held until Release, and then replaced by 410: only the next list shows the change
)

// EventPlan returns the fault of an event, or "".
type EventPlan func(Event) EventFault

// AtEvent returns an EventPlan with a fault for one event.
func AtEvent(of Event, fault EventFault) EventPlan {
	return func(event Event) EventFault {
		if event.Resource == of.Resource && event.N == of.N {
			return fault
		}
		return ""
	}
}

// stream is the body of a watch in JSON. It passes on the events, and injects their faults.
type stream struct {
	*Wire

	resource string
	body     *json.Decoder
	out      bytes.Buffer
	ended    error
}

func (w *Wire) watch(request *http.Request, body io.Reader) io.Reader {
	path := request.URL.Path
	return &stream{Wire: w, resource: path[strings.LastIndex(path, "/")+1:], body: json.NewDecoder(body)}
}

func (s *stream) Read(p []byte) (int, error) {
	for s.out.Len() == 0 {
		if s.ended != nil {
			return 0, s.ended
		}
		if s.ended = s.next(); s.dead.Err() != nil {
			s.ended = errReset
			return 0, s.ended
		}
	}
	return s.out.Read(p)
}

// next passes on one event, or injects its fault.
func (s *stream) next() error {
	var raw json.RawMessage
	if err := s.body.Decode(&raw); err != nil {
		return err
	}
	fault := s.noteEvent(raw)
	if fault == Held || fault == Lost {
		select {
		case <-s.held:
		case <-s.dead.Done():
		}
	}
	if fault == Lost {
		s.pass([]byte(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
			`"message":"too old resource version","reason":"Expired","code":410}}`))
		return io.EOF
	}
	s.pass(raw)
	return nil
}

func (s *stream) pass(event []byte) { s.out.Write(append(bytes.TrimSpace(event), '\n')) }

// noteEvent counts an event, and returns its fault, or "".
func (s *stream) noteEvent(raw json.RawMessage) EventFault {
	var identity struct{ Type string }
	_ = json.Unmarshal(raw, &identity) // what is no event is passed on as it is
	w, kind := s.Wire, identity.Type
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.armed || kind == "BOOKMARK" || kind == "ERROR" {
		return ""
	}
	key := "watch " + s.resource
	w.counts[key]++
	event := Event{s.resource, kind, w.counts[key]}
	w.watched = append(w.watched, event)
	if w.events == nil {
		return ""
	}
	fault := w.events(event)
	if fault != "" {
		w.last = time.Now()
		w.met = append(w.met, string(fault)+": "+event.String())
	}
	return fault
}
