// Package watch implements the command watch of the plugin. The command shows changes of field
// ownership as they happen, and reports field managers that fight for a field.
package watch

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fieldselector "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
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

// New returns the cobra command for "kubectl fieldowners watch".
func New(p *objects.Reader) *cobra.Command {
	w := &command{Reader: p, output: "text"}
	cmd := &cobra.Command{
		Use:   "watch (TYPE/NAME ... | TYPE [NAME ...])",
		Short: "Show changes of field owners as they happen, and managers that fight",
		Long: `Show changes of field owners as they happen. FIGHT marks managers that take a field from
each other again and again. LOOP marks two managers that write in turn, ten times each in
a minute, and take no field from each other.

Exit codes after --timeout: 0 no fight or loop, 1 a fight or loop, 2 an error. The exit
code after Ctrl-C is 130.`,
		Example: `  kubectl fieldowners watch deployments,statefulsets -A --only-fights
  kubectl fieldowners watch deployment/web --path .spec.replicas --timeout 5m`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return w.run(cmd, args) },
	}
	flags := cmd.Flags()
	console.OneOf(cmd, flags, &w.output, "output", "o", "", "text", "json")
	flags.StringVar(&w.path, "path", "", "only this `field` and the fields below, such as .spec.replicas")
	flags.StringSliceVar(&w.managers, "manager", nil, "only fields that one of these field `managers` gains or loses")
	flags.IntVar(&w.perMinute, "fights-per-minute", fightsPerMinute, "report a fight if a field changes owners more often than this in a minute")
	flags.BoolVar(&w.onlyFights, "only-fights", false, "only fights and loops")
	flags.DurationVar(&w.timeout, "timeout", 0, "end after this `time`, such as 5m; 0 means no end")
	w.Selection.AddFlags(cmd)
	p.CompleteObjects(cmd)
	return cmd
}

func (w *command) validate(cmd *cobra.Command, args []string) (*reporter, error) {
	report, err := newReporter(w.perMinute, w.Out, w.ErrOut)
	switch {
	case len(args) == 0:
		return nil, console.UsageError(cmd, "no object is named: name a type or an object, such as deployments or deployment/web")
	case err != nil:
		return nil, console.UsageError(cmd, "--fights-per-minute: %w", err)
	case w.timeout < 0:
		return nil, console.UsageError(cmd, "--timeout is %v, want a positive duration, or 0 for no end", w.timeout)
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

// follow watches the targets until the context ends or one of the watches fails. It returns after
// all its goroutines have ended.
func follow(ctx context.Context, client metadata.Interface, targets []Target, report *reporter) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var all sync.WaitGroup
	var followers []*follower
	for _, target := range targets {
		f := &follower{Target: target, client: client.Resource(target.Resource).Namespace(target.Namespace), report: report}
		followers = append(followers, f)
		all.Go(func() { end(f.follow(ctx)) })
	}
	all.Wait()
	for _, f := range followers {
		if f.behind != nil {
			report.behind = append(report.behind, f.behind)
		}
	}
	return context.Cause(ctx)
}

// Target describes the objects of one watch: all objects of a type, or one object.
type Target struct {
	Resource        schema.GroupVersionResource
	Kind            schema.GroupVersionKind
	Namespace, Name string // "" for all namespaces, and for all names
	Labels, Fields  string // the label selector and the field selector
}

// targets returns the targets that the arguments name in the syntax of kubectl get. It returns each
// type or object only once. It sends no requests except for API discovery.
func (w *command) targets(args []string) (targets []Target, err error) {
	add := func(mapping *meta.RESTMapping, namespace, name string) {
		target := Target{mapping.Resource, mapping.GroupVersionKind, namespace, name, w.Labels, w.Fields}
		if !slices.Contains(targets, target) {
			targets = append(targets, target)
		}
	}
	named, err := resource.HasNames(args)
	if err != nil {
		return nil, err
	}
	builder, err := w.Builder(w.Selection)
	if err != nil {
		return nil, err
	}
	if named {
		infos, err := builder.ResourceTypeOrNameArgs(true, args...).RequireObject(false).Do().Infos()
		for _, info := range infos {
			add(info.Mapping, info.Namespace, info.Name)
		}
		return targets, err
	}
	// If the API server cannot be reached, ReplaceAliases does not replace "all", and then w.kind returns the error.
	for _, one := range resource.SplitResourceArgument(cmp.Or(builder.ReplaceAliases(args[0]), args[0])) {
		mapping, namespace, err := w.kind(one)
		if err != nil {
			return nil, err
		}
		add(mapping, namespace, "")
	}
	return targets, nil
}

// kind returns the REST mapping of the type with the given name, and the namespace to watch. The
// namespace is "" for all namespaces.
func (w *command) kind(name string) (mapping *meta.RESTMapping, namespace string, err error) {
	mapping, err = w.Mapping(name)
	if err != nil || w.AllNamespaces || mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return mapping, "", err
	}
	namespace, _, err = w.Namespace()
	return mapping, namespace, err
}

func (t Target) options(o metav1.ListOptions) metav1.ListOptions {
	o.LabelSelector, o.FieldSelector = t.Labels, t.Fields
	if t.Name != "" {
		o.FieldSelector = fieldselector.OneTermEqualSelector(metav1.ObjectNameField, t.Name).String()
	}
	return o
}

// String returns the target for messages, such as "deployments.apps/web in namespace shop".
func (t Target) String() string {
	text := t.Resource.GroupResource().String()
	if t.Name != "" {
		text += "/" + t.Name
	}
	if t.Namespace != "" {
		text += " in namespace " + t.Namespace
	}
	return view.Safe(text)
}

// object returns the kind, namespace and name of one object of the target, for messages.
func (t Target) object(w watched) string {
	return view.Ref{Kind: t.Kind.Kind, Namespace: w.namespace, Name: w.name}.String()
}
