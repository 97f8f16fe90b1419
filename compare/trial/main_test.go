package trial

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"coapply.dev/compare"
)

// TestMain is also a writer process: a Pool starts its own program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		if err := Serve(context.Background(), spreading(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// spreading knows a workload that processes can attach to, and an arm that ends its process at the first intent.
func spreading() compare.Catalogue {
	w := newPlain().workload()
	w.Attach = func(compare.Stage) compare.Run { return newPlain() }
	return compare.Catalogue{Workloads: []compare.Workload{w}, Arms: []compare.Arm{
		{Name: "put", New: put},
		{Name: "dies", New: func(compare.Session) (compare.Writer, error) {
			return write(func(context.Context, compare.Intent) (compare.Receipt, error) {
				return compare.Receipt{}, syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}), nil
		}},
	}}
}
