package console

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"golang.org/x/term"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// Screen returns how to print: within the width of a terminal and in colour, or complete and
// plain for a program.
func (c *Console) Screen(noHeaders bool) view.Screen {
	terminal, width := TerminalOf(c.Out)
	s := view.Screen{Width: width, Now: time.Now(), NoHeaders: noHeaders}
	noColor := os.Getenv("NO_COLOR") != "" // https://no-color.org
	colours := c.Color == "always" || c.Color == "auto" && terminal && !noColor && os.Getenv("TERM") != "dumb"
	s.Palette = view.Palette(colours)
	return s
}

// TerminalOf reports whether a stream is a terminal, and returns its width.
func TerminalOf(stream any) (is bool, width int) {
	switch wrapped := stream.(type) {
	case *output:
		stream = wrapped.Writer
	case *StatusLine:
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

// Structured prints content as json or yaml; for other outputs it does nothing.
func (c *Console) Structured(output string, content any) error {
	var text []byte
	var err error
	switch output {
	case "json":
		text, err = view.IndentedJSON(content)
	case "yaml":
		text, err = view.YAML(content)
	}
	if err == nil {
		_, err = c.Out.Write(text)
	}
	return err
}

// output is a writer that remembers its first error, so that the command fails if its output is
// incomplete.
type output struct {
	io.Writer

	err error
}

func (o *output) Write(text []byte) (int, error) {
	n, err := o.Writer.Write(text)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// StatusLine is a writer to stderr with a changing last line. Other output, such as a warning
// of the API server, replaces that line.
type StatusLine struct {
	io.Writer

	mu    sync.Mutex
	shown bool
}

// ClearLine clears the last line of a terminal.
const ClearLine = "\r\x1b[K"

// Show replaces the line; "" removes it.
func (s *StatusLine) Show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	fmt.Fprint(s.Writer, text)
	s.shown = text != ""
}

func (s *StatusLine) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return s.Writer.Write(text)
}

func (s *StatusLine) clear() {
	if s.shown {
		fmt.Fprint(s.Writer, ClearLine)
	}
	s.shown = false
}

// Version returns what the go command has recorded: the module's version, which ends with the
// commit if the plugin was built from a checkout.
func Version() string {
	info, _ := debug.ReadBuildInfo() // every build with modules has it
	return fmt.Sprintf("%s %s %s/%s %s", Name, info.Main.Version, runtime.GOOS, runtime.GOARCH, info.GoVersion)
}
