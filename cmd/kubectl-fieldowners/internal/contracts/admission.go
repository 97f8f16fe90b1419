// Package contracts implements the command contract of the plugin, which works with contracts: the fields that each field
// manager may own.
package contracts

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners/contract"
	"coapply.dev/internal/admission"
)

// New returns the cobra command for "kubectl fieldowners contract".
func New(p *objects.Reader) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "contract",
		Short: "Enforce a contract: which fields each field manager may own",
		Args:  console.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAdmission(p))
	return cmd
}

// Read reads a contract from a file, or from stdin if the path is "-".
func Read(r *objects.Reader, path string) (contract.Contract, error) {
	source, content, err := r.ReadFile(path)
	if err != nil {
		return nil, err
	}
	read, err := contract.Read(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %s", source, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return read, nil
}

type admissionCommand struct {
	*objects.Reader

	file                string
	accounts            []string
	offline, namesAlone bool
	settings            admission.Settings
}

func newAdmission(p *objects.Reader) *cobra.Command {
	c := &admissionCommand{Reader: p}
	cmd := &cobra.Command{
		Use:   "admission -f CONTRACT",
		Short: "Write admission policies that enforce a contract",
		Long: `Write ValidatingAdmissionPolicies and RBAC objects that enforce a contract. Only users with
the RBAC verb "use" of fieldmanagers, such as cluster administrators, may write as a manager
of the contract. No other manager can become the owner of an exclusive field of the contract.
Earlier owners, and objects without a field of the contract's managers, are not affected.

The policies cannot check writes to /scale, which have no managed fields: limit these writes
by RBAC. The command reads only resource names from the cluster, and changes nothing there.

Exit codes: 0 written, 2 an error.`,
		Example: `  kubectl fieldowners contract admission -f contract.yaml --service-account shop/web > out.yaml
  kubectl apply --server-side --dry-run=server -f out.yaml
  kubectl fieldowners contract admission -f contract.yaml --names-only > names.yaml`,
		Args: console.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&c.file, "filename", "f", "", "the `file` with the contract, - for stdin")
	console.Complete(cmd, "filename", cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt))
	flags.StringSliceVar(&c.accounts, "service-account", nil, "NAMESPACE/NAME of `accounts` that may use the field managers")
	flags.StringVar(&c.settings.Name, "name", "contract", "name `prefix` of the written objects")
	flags.StringVar(&c.settings.Group, "group", "coapply.dev", "API `group` of the resource fieldmanagers")
	flags.StringVar(&c.settings.Prefix, "reserve", "", "reserve every field manager whose name has this `prefix`")
	flags.BoolVar(&c.namesAlone, "names-only", false, "protect only the managers' names and entries, not their fields")
	flags.BoolVar(&c.offline, "offline", false, "guess resource names from the kinds, without a cluster")
	return cmd
}

func (c *admissionCommand) run(cmd *cobra.Command) error {
	if c.file == "" {
		return console.UsageError(cmd, "the contract is missing: use -f CONTRACT")
	}
	for flag, value := range map[string]string{"--name": c.settings.Name, "--group": c.settings.Group} {
		if wrong := validation.IsDNS1123Subdomain(value); len(wrong) > 0 {
			return console.UsageError(cmd, "%s is %s: %s", flag, view.Safe(value), wrong[0])
		}
	}
	for _, text := range c.accounts {
		namespace, name, found := strings.Cut(text, "/")
		if !found || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return console.UsageError(cmd, "--service-account is %s, want NAMESPACE/NAME", view.Safe(text))
		}
		c.settings.ServiceAccounts = append(c.settings.ServiceAccounts, types.NamespacedName{Namespace: namespace, Name: name})
	}
	c.settings.Fields = !c.namesAlone
	read, err := Read(c.Reader, c.file)
	if err != nil {
		return err
	}
	resources := map[schema.GroupKind]string{}
	for _, claim := range read {
		if resources[claim.Kind], err = c.resourceOf(claim.Kind); err != nil {
			return err
		}
	}
	return admission.Write(c.Out, read, resources, c.settings)
}

func (c *admissionCommand) resourceOf(kind schema.GroupKind) (string, error) {
	if c.offline {
		guess, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
		return guess.Resource, nil
	}
	mapping, err := c.Mapping(kind.String())
	if err != nil {
		return "", fmt.Errorf("finding the resource of the kind %s: %w; to guess the resource from the kind, use --offline", kind, err)
	}
	return mapping.Resource.Resource, nil
}
