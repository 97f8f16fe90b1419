// Package check is the command check: it predicts what an apply of files would do.
package check

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/schemas"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners/predict"
)

type command struct {
	*objects.Reader

	files       []string
	live        []string
	manager     string
	subresource string
	dryRun      string
	output      string
	sarif       bool
	saved       []map[string]any // of --live
	client      client.Client    // for --dry-run=server
	schemas     schemas.Server
}

// New returns the command check.
func New(p *objects.Reader) *cobra.Command {
	c := &command{Reader: p, output: "text", dryRun: "none"}
	cmd := &cobra.Command{
		Use:   "check -f FILE --field-manager MANAGER",
		Short: "Tell which fields of a file would conflict, before it is applied: a gate for CI",
		Long: `Tell what a server-side apply of a file would meet, before it is applied: which fields
conflict, with whom and with which values; which would be shared, and which the
manager would give up because the file lists them no longer. Nothing is written.

It predicts from the managed fields of the live objects, and looks the fields up in the
API server's schemas. These do not tell everything: what they leave open is said to be
not certain, and not guessed. Required fields, names and values are not checked.
--dry-run=server asks the API server instead, with validation and admission; that needs
the right to patch.

Exit codes: 0 no conflict; 1 conflicts; 2 an error, or the API server would refuse the
file; 3 no conflict as far as can be told, but something is not certain.`,
		Example: `  kubectl fieldowners check -f web.yaml --field-manager ci
  kubectl kustomize . | kubectl fieldowners check -f - --field-manager ci --dry-run=server
  kubectl fieldowners check -f web.yaml --field-manager ci --live saved.yaml   # no cluster
  kubectl fieldowners check -f web.yaml --field-manager ci --sarif > check.sarif`,
		Args: console.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&c.files, "filename", "f", nil, "`files` to be applied, - for stdin")
	flags.StringVar(&c.manager, "field-manager", "", "`name` under which they would be applied")
	flags.StringSliceVar(&c.live, "live", nil, "`files` with the live objects, saved with --show-managed-fields, instead of a cluster")
	flags.StringVar(&c.subresource, "subresource", "", "the `subresource` they would be applied to, such as status")
	console.OneOf(cmd, flags, &c.output, "output", "o", "", "text", "json", "yaml", "sarif")
	flags.BoolVar(&c.sarif, "sarif", false, "the same as -o sarif: SARIF 2.1.0, for what shows findings beside the code")
	console.OneOf(cmd, flags, &c.dryRun, "dry-run", "", `"server" asks the API server by a dry run, "none" predicts`, "none", "server")
	return cmd
}

func (c *command) run(cmd *cobra.Command) error {
	if err := c.validate(cmd); err != nil {
		return err
	}
	if c.sarif {
		c.output = "sarif"
	}
	var err error
	if c.saved, err = c.ReadAll(c.live...); err != nil {
		return err
	}
	switch {
	case c.asksServer():
		if c.client, err = c.Connect(); err != nil {
			return err
		}
	case len(c.live) == 0:
		c.schemas = schemas.OfServer(c.Reader)
	}
	items, failed, err := c.checkFiles(cmd.Context())
	if err == nil {
		err = c.lookForNamespaces(items)
	}
	if err == nil {
		err = c.print(items)
	}
	if failed && (err == nil || errors.Is(err, console.ErrFound) || errors.Is(err, console.ErrUnsure)) {
		err = console.ErrSaid
	}
	return err
}

// asksServer reports whether the check is a dry run of the API server.
func (c *command) asksServer() bool { return c.dryRun == "server" }

// checkFiles checks object by object. If one cannot be checked, the reason is printed on
// stderr, and the others are checked.
func (c *command) checkFiles(ctx context.Context) (items []result, failed bool, err error) {
	items = []result{} // an empty list for programs, not null
	err = c.ReadFiles(c.files, func(intent objects.Item) error {
		item, err := c.check(ctx, intent)
		switch nowhere := (*url.Error)(nil); {
		case err == nil:
			items = append(items, item)
		case ctx.Err() != nil:
			return err
		case errors.As(err, &nowhere): // no file is the cause
			return nowhere
		default:
			failed = c.Say(fmt.Errorf("%s: %s%w", intent.Source, nameOf(intent.Content), err))
		}
		return nil
	})
	return items, failed, err
}

func (c *command) validate(cmd *cobra.Command) error {
	switch {
	case len(c.files) == 0:
		return console.UsageError(cmd, "which file would be applied? Name it by -f")
	case c.manager == "":
		return console.UsageError(cmd, "who would apply it? Name the field manager by --field-manager (kubectl apply --server-side is %q unless told otherwise)", "kubectl")
	case c.asksServer() && len(c.live) > 0:
		return console.UsageError(cmd, "--dry-run=server asks the API server, so --live has no part in it")
	case slices.Contains(c.files, "-") && slices.Contains(c.live, "-"):
		return console.UsageError(cmd, "stdin can be either -f or --live")
	case c.sarif && cmd.Flags().Changed("output") && c.output != "sarif":
		return console.UsageError(cmd, "--sarif is -o sarif: it cannot be -o %s as well", c.output)
	}
	return console.CheckManager(cmd, "field-manager", c.manager)
}

// check returns what an apply of one object would do.
func (c *command) check(ctx context.Context, item objects.Item) (result, error) {
	intent := item.Content
	if nameOf(intent) == "" {
		return result{}, errors.New("metadata.name is missing")
	}
	if c.asksServer() {
		return c.checkByServer(ctx, item)
	}
	live, err := c.liveOf(intent)
	if err != nil {
		return result{}, err
	}
	prediction, err := predict.Apply(live, intent, c.manager, c.subresource)
	if errors.Is(err, predict.ErrNoManagedFields) {
		return result{}, c.noManagedFields()
	}
	if err != nil {
		return result{}, err
	}
	found := newResult(item, live)
	if c.lookUp(&found, intent, live); len(found.Refused) == 0 {
		found.predicted(prediction)
	}
	return found, nil
}

func (c *command) noManagedFields() error {
	if len(c.live) == 0 {
		return errors.New("managedFields absent: the API server has none of the live object; --dry-run=server asks it what an apply would do")
	}
	return errors.New("managedFields absent from the live object: ask with --show-managed-fields")
}

// liveOf returns the live object, from the cluster or from --live; nil if there is none.
func (c *command) liveOf(intent map[string]any) (map[string]any, error) {
	wanted := unstructured.Unstructured{Object: intent}
	if len(c.live) == 0 {
		return c.Counterpart(wanted.GroupVersionKind(), wanted.GetNamespace(), wanted.GetName())
	}
	namespace, enforced, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	if wanted.GetNamespace() == "" && enforced {
		wanted = *wanted.DeepCopy()
		wanted.SetNamespace(namespace)
	}
	var found []map[string]any
	for _, object := range c.saved {
		if objects.Same(wanted.Object, object) {
			found = append(found, object)
		}
	}
	switch len(found) {
	case 0:
		fmt.Fprintf(c.ErrOut, "warning: %s --live has no such object, so it would be created\n", strings.TrimSuffix(nameOf(intent), " "))
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("--live has %d of that kind and name: tell which by -n", len(found))
}

// nameOf returns kind and name, for the beginning of a message; "" without a name.
func nameOf(object map[string]any) string {
	o := unstructured.Unstructured{Object: object}
	if o.GetName() == "" {
		return ""
	}
	return view.Safe(o.GetKind()+" "+o.GetName()) + ": "
}
