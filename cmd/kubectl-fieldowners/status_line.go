package main

import (
	"fmt"
	"io"
	"sync"
)

// statusLine is stderr with a line at its end that changes. What else is written, such
// as a warning of the API server, takes its place.
type statusLine struct {
	io.Writer

	mu    sync.Mutex
	shown bool
}

const clearLine = "\r\x1b[K"

// show writes the line in the place of the one before; "" takes it away.
func (s *statusLine) show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	fmt.Fprint(s.Writer, text)
	s.shown = text != ""
}

func (s *statusLine) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return s.Writer.Write(text)
}

func (s *statusLine) clear() {
	if s.shown {
		fmt.Fprint(s.Writer, clearLine)
	}
	s.shown = false
}
