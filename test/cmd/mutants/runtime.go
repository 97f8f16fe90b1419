package main

import "fmt"

// switches returns the text of a file that is added to each package with mutants. It has the functions that switch a
// mutant on.
func switches(name string, mutants int) string {
	return fmt.Sprintf(`package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	coapplyMutantNow, _ = strconv.Atoi(os.Getenv("COAPPLY_MUTANT"))
	coapplyMutantLog    = os.Getenv("COAPPLY_MUTANTS_REACHED")
	coapplyMutantSeen   [%d]atomic.Bool
)

func coapplyMutant(number int) bool {
	if coapplyMutantNow == number {
		return true
	}
	if coapplyMutantLog != "" && !coapplyMutantSeen[number].Swap(true) {
		file, err := os.OpenFile(coapplyMutantLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		_, _ = file.WriteString(strconv.Itoa(number) + "\n")
		_ = file.Close()
	}
	return false
}

func coapplyMutantOf[T any](number int, mutated, original T) T {
	if coapplyMutant(number) {
		return mutated
	}
	return original
}

func coapplyMutantZero[T any](number int, original func() T) (zero T) {
	if coapplyMutant(number) {
		return zero
	}
	return original()
}
`, name, mutants+1)
}
