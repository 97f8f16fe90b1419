package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fatih/color"
)

// show prints the demo: steps with a line of explanation, what is seen, and what
// was checked of it.
type show struct {
	out   io.Writer
	steps int
	bold  *color.Color
	good  *color.Color
}

func newShow(out io.Writer) *show {
	return &show{out: out, bold: color.New(color.Bold), good: color.New(color.FgGreen)}
}

// step opens a step.
func (s *show) step(title string, explanation ...string) {
	s.steps++
	fmt.Fprintln(s.out)
	fmt.Fprintln(s.out, s.bold.Sprintf("%d. %s", s.steps, title))
	for _, line := range explanation {
		fmt.Fprintf(s.out, "   %s\n", line)
	}
}

// print shows what a step sees, indented.
func (s *show) print(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(s.out, "     %s\n", strings.TrimRight(line, "\n"))
	}
}

// ok says what was checked and held.
func (s *show) ok(format string, args ...any) {
	fmt.Fprintf(s.out, "   %s "+format+"\n", append([]any{s.good.Sprint("ok")}, args...)...)
}

// kubectl runs the control plane's kubectl, and prints the command and its output.
func (d *demonstration) kubectl(ctx context.Context, args ...string) error {
	d.show.print(commandLine(args))
	out, err := d.platform.kubectl(ctx, args...)
	d.show.print(out)
	return err
}

// commandLine is a command as one would type it, over several lines if it is long.
func commandLine(args []string) string {
	line, all := "$ kubectl", ""
	for _, arg := range args {
		if strings.ContainsAny(arg, " {") {
			arg = "'" + arg + "'"
		}
		if len(line)+1+len(arg) > 72 {
			all += line + " \\\n"
			line = "   "
		}
		line += " " + arg
	}
	return all + line
}

// wrapped breaks text between words so that a line fits.
func wrapped(text string, width int) string {
	var b strings.Builder
	line := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == 0:
		case line+1+len(word) > width:
			b.WriteByte('\n')
			line = 0
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += len(word)
	}
	return b.String()
}

// patience bounds each wait; on a slow machine a step takes a few seconds.
const patience = 30 * time.Second

// until polls until check returns "", and fails with what it returned last.
func until(ctx context.Context, what string, check func(context.Context) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	seen := "nothing yet"
	for {
		now, err := check(ctx)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("waited in vain (%w) until %s; last seen: %s", ctx.Err(), what, seen)
		case err != nil:
			return err
		case now == "":
			return nil
		}
		seen = now
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}
