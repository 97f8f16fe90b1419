package kit

import (
	"testing"

	"coapply.dev/apply"
)

func Transferred(t testing.TB, transfer *apply.Transfer, err error) (undo *apply.Transfer) {
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
