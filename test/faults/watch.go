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
	Held      EventFault = "held"      // the event and all later events of its watch are delayed until Release
	Repeated  EventFault = "repeated"  // the event is sent twice
	Reordered EventFault = "reordered" // the event is sent after the next event, if that is about another object
	Coalesced EventFault = "coalesced" // the event is left out, if the next event is a change of the same object
	Expired   EventFault = "410"       // the watch ends with 410 (too old) instead of the event
	Lost      EventFault = "lost"      // the event is held until Release, and then replaced by 410: only the next list shows the change
	Cut       EventFault = "cut"       // the connection ends instead of the event
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
	events   chan json.RawMessage // closed with the stream
	out      bytes.Buffer
	ended    error
}

func (w *Wire) watch(request *http.Request, body io.Reader) io.Reader {
	path := request.URL.Path
	s := &stream{Wire: w, resource: path[strings.LastIndex(path, "/")+1:], events: make(chan json.RawMessage)}
	go s.decode(request.Context().Done(), json.NewDecoder(body))
	return s
}

// decode sends the events in the body to s.events. It returns when the body ends or done is closed.
func (s *stream) decode(done <-chan struct{}, from *json.Decoder) {
	defer close(s.events)
	for {
		var raw json.RawMessage
		if from.Decode(&raw) != nil {
			return
		}
		select {
		case s.events <- raw:
		case <-done:
			return
		}
	}
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
	raw, ok := <-s.events
	if !ok {
		return io.EOF
	}
	fault := s.noteEvent(raw)
	if fault == Held || fault == Lost {
		select {
		case <-s.held:
		case <-s.dead.Done():
		}
	}
	switch fault {
	case Repeated:
		s.pass(raw)
		s.pass(raw)
	case Reordered, Coalesced:
		s.passLater(raw, fault)
	case Expired, Lost:
		s.pass([]byte(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
			`"message":"too old resource version","reason":"Expired","code":410}}`))
		return io.EOF
	case Cut:
		return io.ErrUnexpectedEOF
	default:
		s.pass(raw)
	}
	return nil
}

// patience is how long a Reordered or Coalesced event waits for the next event.
const patience = 500 * time.Millisecond

func (s *stream) passLater(first json.RawMessage, how EventFault) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case second, ok := <-s.events:
		if !ok {
			s.pass(first)
			return
		}
		s.noteEvent(second)
		s.passBoth(first, second, how)
	case <-timer.C:
		s.pass(first)
	case <-s.dead.Done():
	}
}

func (s *stream) passBoth(first, second json.RawMessage, how EventFault) {
	one, two := identify(first), identify(second)
	same := one.Object.Metadata.UID == two.Object.Metadata.UID
	switch {
	case two.Type == "BOOKMARK", how == Reordered && same, how == Coalesced && (!same || two.Type != "MODIFIED"):
		s.pass(first)
		s.pass(second)
	case how == Reordered:
		s.pass(second)
		s.pass(first)
	case one.Type == "ADDED": // what is seen first is an addition
		s.pass(bytes.Replace(second, []byte(`"MODIFIED"`), []byte(`"ADDED"`), 1))
	default:
		s.pass(second)
	}
}

func (s *stream) pass(event []byte) {
	if event != nil {
		s.out.Write(append(bytes.TrimSpace(event), '\n'))
	}
}

type identity struct {
	Type   string
	Object struct {
		Metadata struct{ UID string }
	}
}

func identify(event []byte) identity {
	var i identity
	_ = json.Unmarshal(event, &i) // what is no event is passed on as it is
	return i
}

// noteEvent counts an event, and returns its fault, or "".
func (s *stream) noteEvent(raw json.RawMessage) EventFault {
	w, kind := s.Wire, identify(raw).Type
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
