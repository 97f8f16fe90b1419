package neighbours

import (
	"context"
	"fmt"
	"os"
	"testing"

	"coapply.dev/internal/localcluster"
	"coapply.dev/test/kit"
)

// kubectl is the path of the program: that of the control plane's version, or of $KUBECTL.
var kubectl = os.Getenv("KUBECTL")

func TestMain(m *testing.M) {
	if kubectl == "" {
		binaries, err := localcluster.Ensure(context.Background(), os.Stderr)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		kubectl = binaries.Kubectl
	}
	kit.Main(m)
}
