package trial

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// panicError is a panic of an arm or a workload: their code is a plug-in and ends the trial only.
type panicError struct {
	what, where string
	value       any
}

func (p *panicError) Error() string {
	return fmt.Sprintf("%s panicked at %s: %v", p.what, p.where, p.value)
}

// guard calls code of an arm or a workload.
func guard(what string, call func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{what: what, where: panickedAt(), value: value}
		}
	}()
	return call()
}

// panickedAt is the first line above the runtime's own on the stack of a panic.
func panickedAt() string {
	stack := make([]uintptr, 32)
	frames := runtime.CallersFrames(stack[:runtime.Callers(0, stack)])
	panicking := false
	for {
		frame, more := frames.Next()
		switch inRuntime := strings.HasPrefix(frame.Function, "runtime."); {
		case frame.Function == "runtime.gopanic":
			panicking = true
		case panicking && !inRuntime:
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}
