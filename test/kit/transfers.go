package kit

import (
	"testing"

	"coapply.dev/apply/ownership"
)

// Transferred carries out a transfer, and returns the undo. It fails the test if there is nothing to transfer.
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
