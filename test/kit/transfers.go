package kit

import (
	"testing"

	"coapply.dev/apply/ownership"
)

// Transferred does a transfer, and returns its undo.
func Transferred(t testing.TB, transfer *ownership.Transfer, err error) (undo *ownership.Transfer) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(transfer.Moves()) == 0 {
		t.Fatalf("nothing to move: %v", transfer)
	}
	undo, err = transfer.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return undo
}
