// Package check implements the check command of the plugin. The command uses dry runs on the API server to show the
// effects of applying the given files.
package check

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

type command struct {
	*objects.Reader

	files       []string
	manager     string
	subresource string
	output      string
	live        []string // files with the objects, instead of a cluster
	openapi     []string // files with the schemas, instead of a cluster
	saved       *saved   // what these files have, or nil
	client      client.WithWatch
	namespace   string // the namespace for objects that specify none
}

// New returns the cobra command for "kubectl fieldowners check".
func New(p *objects.Reader) *cobra.Command {
	c := &command{Reader: p, output: "text"}
	cmd := &cobra.Command{
		Use:   "check -f FILE --field-manager MANAGER",
		Short: "Show which fields of a file would conflict, before it is applied: a gate for CI",
		Long: `Show what a server-side apply of a file would do, by a dry run that writes nothing: which
fields conflict, with which managers and values; which fields would be shared, changed, or
given up because the file no longer lists them.

Without permission to patch, or with --live and --openapi instead of a cluster, check computes
the effects from the live objects and the schemas, without validation, admission and defaults.
If a result is not certain, check fails. An object that is not in --live counts as new.

Exit codes: 0 no conflict; 1 conflicts; 2 an error, or the API server refuses the file.`,
		Example: `  kubectl fieldowners check -f web.yaml --field-manager ci
  kubectl kustomize . | kubectl fieldowners check -f - --field-manager ci
  helm template web ./chart | kubectl fieldowners check -f - --field-manager helm
  kubectl fieldowners check -f web.yaml --field-manager ci -o markdown   # for a pull request`,
		Args: console.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&c.files, "filename", "f", nil, "`files` to be applied, - for stdin")
	flags.StringVar(&c.manager, "field-manager", "", "the `name` of the field manager that would apply the files")
	flags.StringVar(&c.subresource, "subresource", "", "the `name` of the subresource to apply to, such as status")
	flags.StringSliceVar(&c.live, "live", nil, "live objects: `files` from kubectl get -o yaml --show-managed-fields")
	flags.StringSliceVar(&c.openapi, "openapi", nil, "schemas: `files` from kubectl get --raw /openapi/v3/apis/apps/v1")
	console.OneOf(cmd, flags, &c.output, "output", "o", "", "text", "json", "yaml", "markdown")
	return cmd
}

func (c *command) run(cmd *cobra.Command) error {
	err := c.validate(cmd)
	switch {
	case err != nil:
	case len(c.live) > 0:
		c.saved, err = openSaved(c.Reader, c.live, c.openapi)
		c.client = c.saved
	default:
		c.client, err = c.Connect()
	}
	if err == nil {
		c.namespace, _, err = c.Namespace()
	}
	if err != nil {
		return err
	}
	items, failed, err := c.checkFiles(cmd.Context())
	if err == nil {
		err = c.print(items, failed)
	}
	if failed && (err == nil || errors.Is(err, console.ErrFound)) {
		err = console.ErrSaid
	}
	return err
}

func (c *command) validate(cmd *cobra.Command) error {
	switch {
	case len(c.files) == 0:
		return console.UsageError(cmd, "-f is missing: name the files that would be applied, or - for stdin")
	case c.manager == "":
		return console.UsageError(cmd, "--field-manager is missing: name the field manager that would apply the files (the default of kubectl apply --server-side is %q)", "kubectl")
	}
	if (len(c.live) == 0) != (len(c.openapi) == 0) {
		return console.UsageError(cmd, "--live and --openapi belong together: without a cluster, both the objects and their schemas are needed")
	}
	if stdins := slices.DeleteFunc(slices.Concat(c.files, c.live, c.openapi), func(file string) bool { return file != "-" }); len(stdins) > 1 {
		return console.UsageError(cmd, "stdin (-) can be read only once: name files for the other inputs")
	}
	return console.CheckManager(cmd, "field-manager", c.manager)
}

// checkFiles checks every object of the files. If an object cannot be checked, checkFiles prints the error on stderr,
// continues with the next object, and returns failed as true. It returns an error if it cannot continue.
func (c *command) checkFiles(ctx context.Context) (items []result, failed bool, err error) {
	items = []result{} // not nil, which would be null as JSON
	err = c.ReadFiles(c.files, func(intent objects.Item) error {
		item, err := c.check(ctx, intent)
		switch nowhere := (*url.Error)(nil); {
		case err == nil:
			items = append(items, item)
		case ctx.Err() != nil:
			return err
		case errors.As(err, &nowhere): // no connection to the API server: the file is not the cause
			return nowhere
		default:
			failed = c.Say(fmt.Errorf("%s: %s%w", intent.Source, nameOf(intent.Content), err))
		}
		return nil
	})
	return items, failed, err
}

// check returns what an apply of one object would do. It plans a forced apply, which shows conflicts
// and all other effects. For an apply without force, the API server would report only the conflicts.
func (c *command) check(ctx context.Context, item objects.Item) (result, error) {
	if nameOf(item.Content) == "" {
		return result{}, errors.New("metadata.name is missing")
	}
	wanted := (&unstructured.Unstructured{Object: item.Content}).DeepCopy()
	namespaced, err := c.client.IsObjectNamespaced(wanted)
	if err != nil {
		return result{}, err
	}
	if namespaced && wanted.GetNamespace() == "" {
		wanted.SetNamespace(c.namespace)
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(wanted.GroupVersionKind())
	err = c.client.Get(ctx, client.ObjectKeyFromObject(wanted), live)
	if client.IgnoreNotFound(err) != nil {
		return result{}, err
	}
	if err != nil {
		live.Object = nil
	} else if c.manager == helm {
		addHelmMetadata(wanted, live)
	}
	if c.saved != nil {
		plan, err := c.planComputed(ctx, live, wanted)
		if err != nil {
			return result{}, err
		}
		return newResult(item, live.Object, plan, true), nil
	}
	plan, err := c.plan(ctx, c.client, wanted)
	computed := apierrors.IsForbidden(err) && !c.mayPatch(ctx, wanted)
	if computed {
		if plan, err = c.planComputed(ctx, live, wanted); err != nil {
			err = fmt.Errorf("without permission to patch there is no dry run, and the effects cannot be computed either: %w", err)
		}
	}
	if err != nil {
		return result{}, err
	}
	return newResult(item, live.Object, plan, computed), nil
}

// helm is Helm's field manager.
const helm = "helm"

// addHelmMetadata adds the label and the annotations that Helm itself adds to every object of a release. The output of helm
// template lacks them, so that they would count as given up.
func addHelmMetadata(wanted, live *unstructured.Unstructured) {
	copied := func(from, to map[string]string, keys ...string) map[string]string {
		for _, key := range keys {
			if value, found := from[key]; found && to[key] == "" {
				if to == nil {
					to = map[string]string{}
				}
				to[key] = value
			}
		}
		return to
	}
	if live.GetLabels()["app.kubernetes.io/managed-by"] == "Helm" {
		wanted.SetLabels(copied(live.GetLabels(), wanted.GetLabels(), "app.kubernetes.io/managed-by"))
		wanted.SetAnnotations(copied(live.GetAnnotations(), wanted.GetAnnotations(), "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"))
	}
}

// planComputed returns the effects of a forced apply to the live object, computed from the schemas.
func (c *command) planComputed(ctx context.Context, live, wanted *unstructured.Unstructured) (apply.Plan, error) {
	plan, err := c.plan(ctx, c.computing(live), wanted)
	if refused := (*apply.RefusedError)(nil); errors.As(err, &refused) { // an error of compute
		err = refused.Err
	}
	return plan, err
}

// plan returns the effects of a forced apply through the given client.
func (c *command) plan(ctx context.Context, through client.Client, wanted *unstructured.Unstructured) (apply.Plan, error) {
	applier, err := apply.New(through, apply.Config{FieldManager: c.manager, LiveReader: c.client, Policy: apply.OnConflict(apply.Force)})
	if err != nil {
		return apply.Plan{}, err
	}
	plan, err := applier.Plan(ctx, apply.Intent{Config: client.ApplyConfigurationFromUnstructured(wanted), Subresource: c.subresource})
	return plan, errors.Join(err, plan.Refused)
}

// nameOf returns the prefix "KIND NAME: " for a message, or "" if the object has no name.
func nameOf(object map[string]any) string {
	o := unstructured.Unstructured{Object: object}
	if o.GetName() == "" {
		return ""
	}
	return view.Safe(o.GetKind()+" "+o.GetName()) + ": "
}
