package scale

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"coapply.dev/compare/target"
)

func TestMain(m *testing.M) {
	if IsProcess() {
		os.Exit(Process(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestRun measures few objects for a moment: nothing is written, though others write; what is written by hand reconciles
// each of their writes, and what coapply.For makes none.
// COAPPLY_SCALE_OBJECTS asks for more, each for as long as Window says: 10,000 need -timeout 1h.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("a control plane of its own: make soak runs it, and so does go test without -short")
	}
	objects, window := 20, 2*time.Second
	if given := os.Getenv("COAPPLY_SCALE_OBJECTS"); given != "" {
		var err error
		if objects, err = strconv.Atoi(given); err != nil {
			t.Fatal(err)
		}
		window = Window
	}
	on, err := target.Local(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := on.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	got, err := run(t.Context(), on.Admin(), objects, window, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", got)
	if got.RestartWrites != 0 || got.WindowWrites != 0 {
		t.Errorf("%d writes at the start, %d in the window, want none", got.RestartWrites, got.WindowWrites)
	}
	if got.OthersWrites == 0 || got.ByHandReconciles < got.OthersWrites || got.Reconciles >= got.OthersWrites {
		t.Errorf("%d reconciles, %d by hand, %d writes of others", got.Reconciles, got.ByHandReconciles, got.OthersWrites)
	}
	if got.QuietCPUShare <= 0 {
		t.Errorf("with nobody else writing %g of a core", got.QuietCPUShare)
	}
}
