// Package setup is what the wiring of every reconciler shares: its options, and the two
// ways in which it writes.
package setup

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/apply/lanes"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
	"coapply.dev/internal/controller/fieldmanagers"
)

// Options are common to all reconcilers.
type Options struct {
	// Lanes are those of the process, for all that its reconcilers write. nil: each
	// Applier and Updater has its own.
	Lanes *lanes.Set
	// Steady is NewSteady's, for all that they apply. nil sends each intent.
	Steady *apply.SteadyState
	// Metrics may be nil.
	Metrics apply.Metrics
	// Replicas decides what happens when someone else, a person with kubectl scale
	// or an autoscaler, owns the replicas of a Devbox's Deployment.
	Replicas apply.Decision
	// Contention stops managers of ours that fight about a field from forcing it. nil
	// stops nobody, and package fights does not look.
	Contention *contention.State
}

// Writer is who writes.
type Writer struct {
	FieldManager string
	Policy       apply.Policy
	// Within reports whether something may be applied in a Namespace; where it is not nil,
	// nothing is in one that is not there or is being deleted. Namespaces must be watched
	// for it.
	Within func(namespace *corev1.Namespace) bool
}

// Writers gives the two ways to write under one field manager.
func Writers(mgr ctrl.Manager, w Writer, options Options) (*apply.Applier, *update.Updater, error) {
	c, steady := mgr.GetClient(), options.Steady
	if w.Within != nil {
		guarded := withinOnly{c, w.Within}
		c, steady = guarded, steady.ReadBy(mayWrite{guarded})
	}
	applier, err := apply.New(c, apply.Config{
		FieldManager: w.FieldManager,
		Policy:       options.Contention.Guard(w.FieldManager, w.Policy),
		LiveReader:   mgr.GetAPIReader(),
		Lanes:        options.Lanes,
		Steady:       steady,
		Metrics:      options.Contention.Sent(w.FieldManager, options.Metrics),
		Contract:     fieldmanagers.Contract(w.FieldManager),
	})
	if err != nil {
		return nil, nil, err
	}
	updater, err := update.New(update.Config{
		Client:       mgr.GetClient(),
		LiveReader:   mgr.GetAPIReader(),
		FieldManager: w.FieldManager,
		Lanes:        options.Lanes,
		Backoff:      patience,
		Metrics:      options.Metrics,
	})
	return applier, updater, err
}

// patience is for statuses that several reconcilers write at once: the five attempts
// of update.DefaultRetry, one 10 ms after the other, run out on a busy server.
var patience = wait.Backoff{Steps: 10, Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 1}

// Complete builds the reconciler and hands it to the controller builder.
func Complete[P client.Object](builder *ctrl.Builder, name string, config reconciler.Config[P]) error {
	r, err := reconciler.New(config)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := builder.Named(name).Complete(r); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
