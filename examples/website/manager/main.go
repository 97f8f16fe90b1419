// Command manager runs the reconciler of Websites on the cluster of the current kubeconfig, or on
// the cluster in which it runs as a pod. In a pod it uses leader election.
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
