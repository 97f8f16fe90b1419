package kit

import (
	"os"
	"strconv"
	"testing"
)

// Seed returns the seed of a random test: COAPPLY_SEED, or 1 by default. So a test that begins to fail in make test
// fails because of a change, and not by chance. make soak uses a new seed in each run.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(number(t, "COAPPLY_SEED", 1))
	t.Logf("COAPPLY_SEED=%d", seed)
	return seed
}

// Cases returns the number of cases of a random test: COAPPLY_CASES, or the given default.
func Cases(t testing.TB, otherwise int) int { return number(t, "COAPPLY_CASES", otherwise) }

// Races returns the number of runs of a race: COAPPLY_RACES, or the given default.
func Races(t testing.TB, otherwise int) int { return number(t, "COAPPLY_RACES", otherwise) }

// ForSoak skips a test with -short, because it takes minutes, or needs its own control plane. make soak runs the test.
func ForSoak(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped with -short; make soak runs this test")
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
