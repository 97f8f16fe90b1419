package compare

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"coapply.dev/compare"
	"coapply.dev/compare/arms"
	"coapply.dev/compare/trial"
	"coapply.dev/compare/workloads"
	"coapply.dev/test/kit"
)

// TestMain is also a writer process, as a trial in several processes starts its own program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == trial.Command {
		ctrl.SetLogger(logr.Discard())
		c := compare.Catalogue{Arms: arms.All(), Workloads: workloads.All()}
		if err := trial.Serve(context.Background(), c, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		return
	}
	kit.Main(m)
}
