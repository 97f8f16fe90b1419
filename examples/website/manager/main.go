// Command manager runs the reconciler of Websites. In a pod, it works on the pod's cluster and uses
// leader election. Otherwise it works on the cluster of the current kubeconfig.
package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"coapply.dev/examples/website"
)

func main() {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	config, err := ctrl.GetConfig()
	if err == nil {
		_, inPod := os.LookupEnv("KUBERNETES_SERVICE_HOST")
		options := ctrl.Options{LeaderElection: inPod, LeaderElectionID: "website.example.com"}
		err = website.Run(ctrl.SetupSignalHandler(), config, options)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "website:", err)
		os.Exit(1)
	}
}
