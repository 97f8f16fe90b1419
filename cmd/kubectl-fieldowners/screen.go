package main

import (
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// screen returns how to print: within the width of a terminal and in colour, or
// complete and plain where a program reads.
func (p *plugin) screen(noHeaders bool) ownerview.Screen {
	terminal, width := terminalOf(p.Out)
	s := ownerview.Screen{Width: width, Now: time.Now(), NoHeaders: noHeaders}
	noColor := os.Getenv("NO_COLOR") != "" // https://no-color.org
	s.Palette.Enabled = p.color == "always" || p.color == "auto" && terminal && !noColor && os.Getenv("TERM") != "dumb"
	return s
}

// terminalOf reports whether a stream is a terminal, and its width.
func terminalOf(stream any) (is bool, width int) {
	switch wrapped := stream.(type) {
	case *output:
		stream = wrapped.Writer
	case *statusLine:
		stream = wrapped.Writer
	}
	file, isFile := stream.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return false, 0
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return true, columns
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return true, width
}

// waitingForInput reports whether reading a stream would wait for a person to type.
func waitingForInput(in io.Reader) bool {
	is, _ := terminalOf(in)
	return is
}
