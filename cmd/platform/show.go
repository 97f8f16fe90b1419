package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fatih/color"
	"github.com/mitchellh/go-wordwrap"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
)

// show prints the output of the demo: for each step a title, an explanation, the output of commands,
// and the passed checks.
type show struct {
	out   io.Writer
	steps int
	bold  *color.Color
	good  *color.Color
}

func newShow(out io.Writer) *show {
	return &show{out: out, bold: color.New(color.Bold), good: color.New(color.FgGreen)}
}

// step prints the number, title and explanation of the next step.
func (s *show) step(title string, explanation ...string) {
	s.steps++
	fmt.Fprintln(s.out)
	fmt.Fprintln(s.out, s.bold.Sprintf("%d. %s", s.steps, title))
	for _, line := range explanation {
		fmt.Fprintf(s.out, "   %s\n", line)
	}
}

// print prints output of a command or a step, indented.
func (s *show) print(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(s.out, "     %s\n", strings.TrimRight(line, "\n"))
	}
}

// wrap prints output of a step, wrapped to 72 columns.
func (s *show) wrap(text string) { s.print(wordwrap.WrapString(text, 72)) }

// ok prints the result of a check that passed.
func (s *show) ok(format string, args ...any) {
	fmt.Fprintf(s.out, "   %s "+format+"\n", append([]any{s.good.Sprint("ok")}, args...)...)
}

// kubectl runs the control plane's kubectl, and prints the command and its output.
func (d *demonstration) kubectl(ctx context.Context, args ...string) {
	d.show.print(commandLine(args))
	d.show.print(must(d.platform.kubectl(ctx, args...)))
}

// get runs kubectl get for one kind after another.
func (d *demonstration) get(ctx context.Context, kinds ...string) {
	for _, kind := range kinds {
		d.kubectl(ctx, "get", kind)
	}
}

// commandLine returns a kubectl command as a person would type it, on several lines if it is long.
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

// patience is the timeout of each wait in the demo. It is longer than the default nodeDeadlineSeconds of 30, so that a
// NodeMaintenance that does not succeed reports the reason before the timeout.
const patience = 60 * time.Second

// until polls the given function until it returns an error, or "" for success. Any other returned text describes the
// current state. After a timeout, the step fails with an error that has the awaited state (what) and the last text.
func until(ctx context.Context, what string, look func(context.Context) (string, error)) {
	seen := "not known yet"
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		now, err := look(ctx)
		if now != "" && err == nil {
			seen = now
		}
		return now == "", err
	})
	if wait.Interrupted(err) {
		fail("timed out (%w); awaited state: %s; last state: %s", err, what, seen)
	}
	check(err)
}

// failure is the panic value that ends a failed step. With panics, the code of a step needs no error handling.
type failure struct{ error }

// carryOut runs a step. If the step panics with a failure, carryOut returns the failure's error.
func carryOut(ctx context.Context, step func(context.Context)) (err error) {
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case failure:
			err = failed.error
		default:
			panic(failed)
		}
	}()
	step(ctx)
	return nil
}

func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func fail(format string, args ...any) { check(fmt.Errorf(format, args...)) }

// await polls an object until the given function returns "" for the object, and returns the object. Each poll fills a
// new object, because a reused object would keep the old values of fields that are absent from the response.
func await[T any, P interface {
	*T
	client.Object
}](ctx context.Context, d *demonstration, key client.ObjectKey, what string, missing func(P) string) (object P) {
	until(ctx, fmt.Sprintf("%T %s: %s", object, key, what), func(ctx context.Context) (string, error) {
		object = new(T)
		if err := d.platform.client.Get(ctx, key, object); err != nil {
			return err.Error(), client.IgnoreNotFound(err)
		}
		return missing(object), nil
	})
	return object
}

// unlessCondition returns "" if a condition has this status and reason. Otherwise it returns a text
// with the actual state of the condition. An empty reason matches every reason.
func unlessCondition(conditions []metav1.Condition, conditionType, status, reason string) string {
	c := meta.FindStatusCondition(conditions, conditionType)
	switch {
	case c == nil:
		return "no condition " + conditionType
	case string(c.Status) != status || reason != "" && c.Reason != reason:
		return fmt.Sprintf("%s is %s (%s: %s)", c.Type, c.Status, c.Reason, c.Message)
	}
	return ""
}

// condition returns a condition of a Devbox as text, for the output.
func condition(box *v1alpha1.Devbox, conditionType string) string {
	c := meta.FindStatusCondition(box.Status.Conditions, conditionType)
	if c == nil {
		return "no condition " + conditionType
	}
	return fmt.Sprintf("%s: %s, %s\n%s", c.Type, c.Status, c.Reason, c.Message)
}
