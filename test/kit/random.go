package kit

import (
	"os"
	"strconv"
	"testing"
)

// Seed is the same in each run of make test, so that a change has failed and not the dice. make soak has a new one each
// time, and COAPPLY_SEED sees a run again.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(number(t, "COAPPLY_SEED", 1))
	t.Logf("COAPPLY_SEED=%d", seed)
	return seed
}

// Cases is COAPPLY_CASES or what a test does without being asked for more.
func Cases(t testing.TB, otherwise int) int { return number(t, "COAPPLY_CASES", otherwise) }

// Races is COAPPLY_RACES or what a test does without being asked for more.
func Races(t testing.TB, otherwise int) int { return number(t, "COAPPLY_RACES", otherwise) }

// ForSoak leaves a test to make soak: it takes minutes, or a control plane of its own. It runs without -short as well.
func ForSoak(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("make soak runs it, and so does go test without -short")
	}
}

func number(t testing.TB, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	given, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return given
}
