package trial

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// panicError is the error for a panic of an arm or a workload. Such a panic makes only the trial void, because arms
// and workloads may be code of the user.
type panicError struct {
	what, where string
	value       any
}

func (p *panicError) Error() string {
	return fmt.Sprintf("%s panicked at %s: %v", p.what, p.where, p.value)
}

// guard calls code of an arm or a workload, and returns a panic as an error.
func guard(what string, call func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{what: what, where: panickedAt(), value: value}
		}
	}()
	return call()
}

// panickedAt returns the file and line of a panic: the first line on the stack that is not in package runtime. The deferred
// function that recovers must call it.
func panickedAt() string {
	stack := make([]uintptr, 32)
	frames := runtime.CallersFrames(stack[:runtime.Callers(3, stack)]) // without runtime.Callers and these two functions
	for {
		frame, more := frames.Next()
		if !more || !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
	}
}
