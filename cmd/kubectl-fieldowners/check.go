package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
	"coapply.dev/fieldowners"
)

type checkCommand struct {
	*plugin

	files       []string
	live        []string
	manager     string
	subresource string
	server      serverFlag
	output      string
	sarif       bool
	saved       []map[string]any // of --live
	client      client.Client    // for --server
}

var checkOutputs = []string{"text", "json", "yaml", "sarif"}

func newCheck(p *plugin) *cobra.Command {
	c := &checkCommand{plugin: p}
	cmd := &cobra.Command{
		Use:   "check -f FILE --field-manager MANAGER",
		Short: "Tell which fields of a file would conflict, before it is applied: a gate for CI",
		Long: `Tell what a server-side apply of a file would meet, before it is applied: which fields
conflict, with whom and with which values; which would be shared, and which the
manager would give up because the file lists them no longer. Nothing is written.

It predicts from the managed fields of the live objects. These do not tell
everything: what they leave open is said, not guessed. --server asks the API server
instead, by a dry run, in which validation and admission take part; that needs the
right to patch. For its address, which is --server elsewhere, write --server=URL here.

Exit codes: 0 no conflict (there may be doubts, on stderr), 1 conflicts, 2 an error.`,
		Example: `  kubectl fieldowners check -f web.yaml --field-manager ci
  kubectl kustomize . | kubectl fieldowners check -f - --field-manager ci --server
  kubectl fieldowners check -f web.yaml --field-manager ci --live saved.yaml   # no cluster
  kubectl fieldowners check -f web.yaml --field-manager ci --sarif > check.sarif`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && c.server.ask && strings.Contains(args[0], "://") {
				return usageError(cmd, "an address of the API server is written --server=%s here", args[0])
			}
			return noArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&c.files, "filename", "f", nil, "`files` to be applied, - for stdin")
	flags.StringVar(&c.manager, "field-manager", "", "`name` under which they would be applied")
	flags.StringSliceVar(&c.live, "live", nil, "`files` with the live objects, saved with --show-managed-fields, instead of a cluster")
	flags.StringVar(&c.subresource, "subresource", "", "the `subresource` they would be applied to, such as status")
	flags.StringVarP(&c.output, "output", "o", "text", strings.Join(checkOutputs, ", "))
	flags.BoolVar(&c.sarif, "sarif", false, "the same as -o sarif: SARIF 2.1.0, for what shows findings beside the code")
	flags.Var(&c.server, "server", "ask the API server by a dry run; --server=`URL` is its address")
	flags.Lookup("server").NoOptDefVal = askServer
	flags.StringVarP(&c.server.address, "server-address", "s", "", "the same as --server=`URL`, for kubectl's -s")
	completeValues(cmd, "output", checkOutputs...)
	return cmd
}

const askServer = "dry-run"

// serverFlag is --server: without a value a switch, with one kubectl's own flag.
type serverFlag struct {
	ask     bool
	address string
}

func (f *serverFlag) String() string { return f.address }
func (f *serverFlag) Type() string   { return "string" }
func (f *serverFlag) Set(text string) error {
	switch text {
	case askServer, "true":
		f.ask = true
	case "false":
		f.ask = false
	default:
		f.address = text
	}
	return nil
}

func (c *checkCommand) run(cmd *cobra.Command) error {
	if err := c.validate(cmd); err != nil {
		return err
	}
	if c.sarif {
		c.output = "sarif"
	}
	if c.server.address != "" {
		c.config.APIServer = &c.server.address
	}
	if err := c.readSaved(); err != nil {
		return err
	}
	if c.server.ask {
		var err error
		if c.client, err = c.connect(); err != nil {
			return err
		}
	}
	items, failed, err := c.checkFiles(cmd.Context())
	if err == nil {
		err = c.print(items)
	}
	if failed && (err == nil || errors.Is(err, errFound)) {
		err = errSaid
	}
	return err
}

// checkFiles checks object by object. One that cannot be checked is said on stderr and
// does not keep the others from it.
func (c *checkCommand) checkFiles(ctx context.Context) (items []checkItem, failed bool, err error) {
	items = []checkItem{} // a list for programs, also without any
	err = c.readDocuments(c.files, func(d document, object map[string]any) error {
		source := fmt.Sprintf("%s, line %d", d.source, d.line)
		return flattenAt(source, nil, object, func(source string, places []int, intent map[string]any) error {
			item, err := c.check(ctx, d, places, intent)
			switch nowhere := unreachable(err); {
			case err == nil:
				items = append(items, item)
			case ctx.Err() != nil:
				return err
			case nowhere != nil:
				return nowhere
			default:
				failed = c.say(fmt.Errorf("%s: %s%w", source, nameOf(intent), err))
			}
			return nil
		})
	})
	return items, failed, err
}

func (c *checkCommand) validate(cmd *cobra.Command) error {
	switch {
	case len(c.files) == 0:
		return usageError(cmd, "which file would be applied? Name it by -f")
	case c.manager == "":
		return usageError(cmd, "who would apply it? Name the field manager by --field-manager (kubectl apply --server-side is %q unless told otherwise)", "kubectl")
	case !slices.Contains(checkOutputs, c.output):
		return usageError(cmd, "-o is %q, want one of %s", c.output, strings.Join(checkOutputs, ", "))
	case c.server.ask && len(c.live) > 0:
		return usageError(cmd, "--server asks the API server, so --live has no part in it")
	case slices.Contains(c.files, "-") && slices.Contains(c.live, "-"):
		return usageError(cmd, "stdin can be either -f or --live")
	case c.sarif && cmd.Flags().Changed("output") && c.output != "sarif":
		return usageError(cmd, "--sarif is -o sarif: it cannot be -o %s as well", c.output)
	}
	return checkManager(cmd, "field-manager", c.manager)
}

func (c *checkCommand) readSaved() error {
	if len(c.live) == 0 {
		return nil
	}
	return c.readFiles(c.live, func(_ string, object map[string]any) error {
		c.saved = append(c.saved, object)
		return nil
	})
}

// check tells what an apply of one object would meet.
func (c *checkCommand) check(ctx context.Context, d document, places []int, intent map[string]any) (checkItem, error) {
	if nameOf(intent) == "" {
		return checkItem{}, errors.New("metadata.name is missing")
	}
	if c.server.ask {
		return c.checkByServer(ctx, d, places, intent)
	}
	live, err := c.liveOf(intent)
	if err != nil {
		return checkItem{}, err
	}
	prediction, err := fieldowners.Predict(live, intent, c.manager, c.subresource)
	if errors.Is(err, fieldowners.ErrNoManagedFields) {
		return checkItem{}, errors.New("managedFields absent from the live object: ask with --show-managed-fields")
	}
	if err != nil {
		return checkItem{}, err
	}
	item := newCheckItem(d, places, intent, live)
	item.predicted(prediction)
	return item, nil
}

// liveOf gives the live object, of the cluster or of the files; nil if there is none.
func (c *checkCommand) liveOf(intent map[string]any) (map[string]any, error) {
	wanted := unstructured.Unstructured{Object: intent}
	if len(c.live) == 0 {
		return c.counterpart(wanted.GroupVersionKind(), wanted.GetNamespace(), wanted.GetName())
	}
	namespace, enforced, err := c.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	if wanted.GetNamespace() == "" && enforced {
		wanted = *wanted.DeepCopy()
		wanted.SetNamespace(namespace)
	}
	var found []map[string]any
	for _, object := range c.saved {
		saved := unstructured.Unstructured{Object: object}
		sameNamespace := wanted.GetNamespace() == saved.GetNamespace() || wanted.GetNamespace() == "" || saved.GetNamespace() == ""
		if saved.GroupVersionKind().GroupKind() == wanted.GroupVersionKind().GroupKind() && saved.GetName() == wanted.GetName() && sameNamespace {
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

// nameOf gives kind and name as the beginning of a message; "" without a name.
func nameOf(object map[string]any) string {
	o := unstructured.Unstructured{Object: object}
	if o.GetName() == "" {
		return ""
	}
	return ownerview.Safe(o.GetKind()+" "+o.GetName()) + ": "
}
