package fieldowners

import (
	"errors"
	"fmt"
	"slices"

	"coapply.dev/fieldowners/internal/notation"
)

// PathError says where the text of a path is malformed, and why.
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

// ParsePaths reads several paths, each as ParsePath does. An empty path, which is the whole
// object, and a path given twice are errors.
func ParsePaths(texts []string) ([]Path, error) {
	var paths []Path
	for _, text := range texts {
		path, err := ParsePath(text)
		switch {
		case err != nil:
			return nil, err
		case path.IsRoot():
			return nil, errors.New("an empty path names no field")
		case slices.ContainsFunc(paths, path.Equal):
			return nil, fmt.Errorf("path %s is named twice", path)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// MustParsePath is ParsePath for paths written in code; it panics on an error.
func MustParsePath(text string) Path {
	path, err := ParsePath(text)
	if err != nil {
		panic(err)
	}
	return path
}
