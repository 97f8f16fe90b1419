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

// Screen returns the settings for text output. On a terminal, the output is coloured and truncated to the width of
// the terminal. Otherwise, the output is plain and not truncated. c.Color and the environment variable NO_COLOR can
// switch colours on or off.
func (c *Console) Screen(noHeaders bool) view.Screen {
	terminal, width := TerminalOf(c.Out)
	s := view.Screen{Width: width, Now: time.Now(), NoHeaders: noHeaders}
	noColor := os.Getenv("NO_COLOR") != "" // https://no-color.org
	colours := c.Color == "always" || c.Color == "auto" && terminal && !noColor && os.Getenv("TERM") != "dumb"
	s.Palette = view.Palette(colours)
	return s
}

// TerminalOf reports whether a stream is a terminal. If so, it also returns the width of the terminal in columns.
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

// Structured prints content if output is "json" or "yaml". For other values of output it does nothing.
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

// output is a writer that remembers the first write error. A write error makes the command fail, because its output
// is incomplete.
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

// StatusLine is a writer to stderr that can show a status line, such as the progress of an audit.
// Other output, such as a warning of the API server, replaces the status line.
type StatusLine struct {
	io.Writer

	mu    sync.Mutex
	shown bool
}

// ClearLine is the escape sequence that clears the current line of a terminal.
const ClearLine = "\r\x1b[K"

// Show replaces the text of the status line. An empty text removes the status line.
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

// Version returns the name and version of the plugin, its platform, and the version of Go. The
// plugin's version ends with the commit if the plugin was built from a checkout.
func Version() string {
	info, _ := debug.ReadBuildInfo() // every build with modules has a BuildInfo
	return fmt.Sprintf("%s %s %s/%s %s", Name, info.Main.Version, runtime.GOOS, runtime.GOARCH, info.GoVersion)
}
