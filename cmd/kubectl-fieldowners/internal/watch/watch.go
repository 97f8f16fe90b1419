// Package watch is the command watch, which shows live which fields change owners, and which
// managers fight.
package watch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/metadata"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

type command struct {
	*objects.Reader
	objects.Selection

	output     string
	path       string
	managers   []string
	perMinute  int
	onlyFights bool
	timeout    time.Duration
}

// New returns the command watch.
func New(p *objects.Reader) *cobra.Command {
	w := &command{Reader: p, output: "text"}
	cmd := &cobra.Command{
		Use:   "watch (TYPE/NAME ... | TYPE [NAME ...])",
		Short: "Show fields changing owners as it happens, and managers that fight",
		Long: `Show fields changing owners as it happens, and managers that fight.

A line says that a field moved from one manager to another, or that one gained it
beside others or from nobody, or lost it to nobody; objects that come and go have a
line too. With -l or --field-selector an object may also enter or leave the selection.

FIGHT marks two managers that took a field from each other more than
--fights-per-minute times in a minute, directly or by way of a third, or of which one
sets a field again and again and another one deletes it. Managed fields name who
deletes only if it writes something else as well.

LOOP marks two managers that wrote in turn, each within two seconds of the other, ten
times each in a minute, and took nothing from each other: each may answer what the
other wrote. Writes of statuses are not counted.

A fight or loop that goes on is told of once a minute. Writers that share one name,
operation and subresource are one manager: a fight among them does not show.

Nothing is missed when the connection breaks: the watch goes on where it was. Only
where the API server has forgotten what came since (410 Gone), what is shown is the
sum of what came, marked so, and a line on stderr says from when to when.

Only metadata is read. With -o json each line is one object:
  time, type        moved, gained, lost, created, deleted, entered, left, fight,
                    loop or interrupted; time is the API server's where it records one
  apiVersion, kind, namespace, name, uid, resourceVersion
  path, serverPath  of moved, gained, lost and fight
  from, to          of moved, lost (from) and gained (to): name, operation, subresource
  managers          of created and entered: all owners; of fight and loop: the two,
                    or the one who is named
  times, since      of fight: moves in a minute, and the first of them; times of
                    loop: turns in a minute
  fields            of loop: a few fields of each of the managers
  sum               true: what came in between is not known
  fromResourceVersion, since    of interrupted: what was seen last, and when
Fields may be added; none is renamed, removed or given another meaning.

It ends by Ctrl-C (exit code 130), or after --timeout: 0, or 1 if there was a
fight or a loop.`,
		Example: `  kubectl fieldowners watch deployment/web
  kubectl fieldowners watch deployments,statefulsets -A --only-fights
  kubectl fieldowners watch deployment/web --path .spec.replicas --timeout 5m`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return w.run(cmd, args) },
	}
	flags := cmd.Flags()
	console.OneOf(cmd, flags, &w.output, "output", "o", "", "text", "json")
	flags.StringVar(&w.path, "path", "", "only this `field` and what is below it, such as .spec.replicas or "+console.ExamplePath)
	flags.StringSliceVar(&w.managers, "manager", nil, "only what one of these field `managers` gains or loses")
	flags.IntVar(&w.perMinute, "fights-per-minute", fightsPerMinute, "more moves of a field between two managers than this are a fight")
	flags.BoolVar(&w.onlyFights, "only-fights", false, "only fights and loops")
	flags.DurationVar(&w.timeout, "timeout", 0, "end after this `time`, such as 5m; 0 is never")
	w.Selection.AddFlags(cmd)
	p.CompleteObjects(cmd)
	return cmd
}

func (w *command) validate(cmd *cobra.Command, args []string) (*reporter, error) {
	report, err := newReporter(w.perMinute, w.Out, w.ErrOut)
	switch {
	case len(args) == 0:
		return nil, console.UsageError(cmd, "what to watch? Name a type or an object, such as deployments or deployment/web")
	case err != nil:
		return nil, console.UsageError(cmd, "--fights-per-minute: %w", err)
	case w.timeout < 0:
		return nil, console.UsageError(cmd, "--timeout is %v, want a time to come, or 0 for never", w.timeout)
	}
	path, err := view.ParsePath(w.path)
	if err != nil {
		return nil, console.UsageError(cmd, "--path: %w", err)
	}
	report.path, report.managers, report.json = path, w.managers, w.output == "json"
	report.onlyFights, report.bySelector = w.onlyFights, w.Labels != "" || w.Fields != ""
	return report, nil
}

func (w *command) run(cmd *cobra.Command, args []string) error {
	report, err := w.validate(cmd, args)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	targets, err := w.targets(args)
	if err != nil {
		return err
	}
	config, err := w.Config.ToRESTConfig()
	if err != nil {
		return err
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	if w.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	if err := follow(ctx, client, targets, report); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() == nil {
		return err
	}
	return report.result()
}

// follow watches until the context ends or one of the watches fails. It leaves no
// goroutine behind.
func follow(ctx context.Context, client metadata.Interface, targets []Target, report *reporter) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var all sync.WaitGroup
	for _, target := range targets {
		f := &follower{Target: target, client: target.In(client), report: report}
		all.Go(func() {
			end(f.follow(ctx))
			report.ended(f.behind)
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
