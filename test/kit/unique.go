package kit

import (
	"crypto/rand"
	"strings"
)

// Unique returns a name for a cluster-scoped object that no earlier run of a test has used. Such names are needed
// because the API server keeps the objects of a run, and go test -count repeats a test. No name is a prefix of
// another one.
func Unique(name string) string {
	return name + "-" + strings.ToLower(rand.Text())[:8]
}
