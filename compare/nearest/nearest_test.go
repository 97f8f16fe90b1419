package nearest_test

import (
	"slices"
	"testing"

	"coapply.dev/compare/nearest"
)

func TestNames(t *testing.T) {
	names := []string{"devbox-power", "devbox-network", "license", "lane", "lanes"}
	for _, test := range []struct {
		reason, given string
		want          []string
	}{
		{"a letter is missing", "licnse", []string{"license"}},
		{"a part", "power", []string{"devbox-power"}},
		{"the nearest first, then in their order", "lanes", []string{"lanes", "lane"}},
		{"nothing is near", "spaceship", nil},
		{"nothing was given", "", nil},
	} {
		if got := nearest.Names(test.given, names); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}
