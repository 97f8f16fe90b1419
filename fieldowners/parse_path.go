package fieldowners

import (
	"fmt"

	"coapply.dev/fieldowners/internal/notation"
)

// PathError says where a path's text stops being one.
type PathError struct {
	Text   string // what was parsed
	Offset int    // bytes from its start
	Reason string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("path %q: at offset %d: %s", e.Text, e.Offset, e.Reason)
}

// ParsePath reads the notation of Path.String. The error is a *PathError.
func ParsePath(text string) (Path, error) {
	elements, at, err := notation.Parse(text)
	if err != nil {
		return Path{}, &PathError{Text: text, Offset: at, Reason: err.Error()}
	}
	return Path{elements: elements}, nil
}

// MustParsePath is ParsePath for paths written in code; it panics on an error.
func MustParsePath(text string) Path {
	path, err := ParsePath(text)
	if err != nil {
		panic(err)
	}
	return path
}
