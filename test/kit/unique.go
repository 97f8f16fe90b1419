package kit

import (
	"crypto/rand"
	"strings"
)

// Unique returns a name that no earlier run of a test has used, for an object without a namespace: the API server keeps
// the objects of a run, and go test -count runs a test more than once. No such name is the beginning of another one.
func Unique(name string) string {
	return name + "-" + strings.ToLower(rand.Text())[:8]
}
