// Package objects reads the objects specified on a command line, from files or from a cluster.
//
// The package does not interpret managed fields. An interrupt of the command cancels all requests and all reads from
// stdin; see Reader.EndWith.
package objects

import (
	"context"
	"io"
	"net/http"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/util/completion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
)

// PageSize is the maximum number of objects that one list request returns.
const PageSize = 500

// Reader reads objects for one command, from files or from a cluster. NewReader creates a Reader.
type Reader struct {
	*console.Console

	Config *genericclioptions.ConfigFlags
	ctx    context.Context // set by EndWith; ends when the command is interrupted
}

// NewReader returns a Reader whose messages are printed on the console c.
func NewReader(c *console.Console) *Reader {
	return &Reader{Console: c, Config: genericclioptions.NewConfigFlags(true), ctx: context.Background()}
}

// EndWith cancels all requests to the API server and all reads from stdin when the given context ends. The Reader
// stores the context, because some client libraries do not accept a context in their calls.
func (r *Reader) EndWith(ctx context.Context) {
	r.ctx = ctx
	warnings := rest.NewWarningWriter(r.ErrOut, rest.WarningWriterOptions{Deduplicate: true}) // all clients share it
	r.Config.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return ending{ctx, next} })
		config.WarningHandler = warnings
		return config
	}
}

// ending is an HTTP transport that cancels all its requests when its context ends.
type ending struct {
	ctx  context.Context
	next http.RoundTripper
}

func (e ending) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	stop := context.AfterFunc(e.ctx, cancel)
	response, err := e.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	response.Body = closing{response.Body, func() { stop(); cancel() }}
	return response, nil
}

// closing is a ReadCloser whose Close method also calls a function.
type closing struct {
	io.ReadCloser

	then func()
}

func (c closing) Close() error {
	defer c.then()
	return c.ReadCloser.Close()
}

// Connect returns a client of the cluster, which an apply.Applier can use.
func (r *Reader) Connect() (client.WithWatch, error) {
	config, err := r.Config.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	mapper, err := r.Config.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	config.Wrap(apply.RecordExchange)
	return client.NewWithWatch(config, client.Options{Mapper: mapper})
}

// Namespace returns the namespace for objects that specify none. enforced reports whether the namespace
// comes from the command line, and not from the kubeconfig.
func (r *Reader) Namespace() (namespace string, enforced bool, err error) {
	return r.Config.ToRawKubeConfigLoader().Namespace()
}

// Builder returns a builder that reads the selected objects in the same way as kubectl does.
func (r *Reader) Builder(s Selection) (*resource.Builder, error) {
	namespace, _, err := r.Namespace()
	if err != nil {
		return nil, err
	}
	return resource.NewBuilder(r.Config).
		Unstructured().
		NamespaceParam(namespace).DefaultNamespace().AllNamespaces(s.AllNamespaces).
		LabelSelectorParam(s.Labels).FieldSelectorParam(s.Fields), nil
}

// Mapping returns the REST mapping of a type. name is any name that kubectl accepts for the type.
func (r *Reader) Mapping(name string) (*meta.RESTMapping, error) {
	builder, err := r.Builder(Selection{})
	if err != nil {
		return nil, err
	}
	return builder.ResourceTypeOrNameArgs(true, name).Do().ResourceMapping()
}

// ReadCluster calls the given function with every object specified by the arguments, which have the syntax of kubectl
// get. If an object cannot be read, ReadCluster continues with the next object. It returns all errors joined.
func (r *Reader) ReadCluster(args []string, s Selection, each func(object map[string]any)) error {
	builder, err := r.Builder(s)
	if err != nil {
		return err
	}
	result := builder.RequestChunksOf(PageSize).ResourceTypeOrNameArgs(true, args...).ContinueOnError().Flatten().Do()
	return result.Visit(func(info *resource.Info, err error) error {
		if err == nil {
			each(info.Object.(*unstructured.Unstructured).Object)
		}
		return err
	})
}

// Selection specifies the objects that a command reads from the cluster.
type Selection struct {
	Labels, Fields string // label selector and field selector; "" selects all objects
	AllNamespaces  bool
}

// AddFlags adds the flags of the selection to a command: --selector, --field-selector and -A.
func (s *Selection) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.Labels, "selector", "l", "", "only objects with these `labels`, as for kubectl get")
	cmd.Flags().StringVar(&s.Fields, "field-selector", "", "only objects with these `fields`, as for kubectl get")
	cmd.Flags().BoolVarP(&s.AllNamespaces, "all-namespaces", "A", false, "objects of all namespaces")
}

// Source specifies the objects that a command reads. If Files is empty, the command reads from the cluster.
type Source struct {
	Selection

	Files []string
}

// AddFlags adds the flags of the source to a command: -f, and the flags of the selection.
func (s *Source) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVarP(&s.Files, "filename", "f", nil, "read objects from `files`, - for stdin, instead of a cluster")
	s.Selection.AddFlags(cmd)
}

// Check returns an error if -f is used together with arguments or flags that need a cluster.
func (s *Source) Check(cmd *cobra.Command, args []string) error {
	switch {
	case len(s.Files) > 0 && len(args) > 0:
		return console.UsageError(cmd, "%q cannot be used with -f: objects come either from files or from a cluster", args[0])
	case len(s.Files) > 0 && s.Selection != (Selection{}):
		return console.UsageError(cmd, "-l, --field-selector and -A select objects of a cluster, not of files")
	}
	return nil
}

// AddFlags adds kubectl's connection flags, such as --context, to a command and its subcommands.
func (r *Reader) AddFlags(root *cobra.Command) {
	r.Config.AddFlags(root.PersistentFlags())
	factory := cmdutil.NewFactory(r.Config)
	completion.SetFactoryForCompletion(factory)
	for name, list := range map[string]func(string) []string{
		"namespace": func(typed string) []string { return completion.CompGetResource(factory, "namespace", typed) },
		"context":   completion.ListContextsInConfig,
		"cluster":   completion.ListClustersInConfig,
		"user":      completion.ListUsersInConfig,
	} {
		console.Complete(root, name, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return list(typed), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// CompleteObjects makes the shell complete TYPE, NAME and TYPE/NAME as for kubectl get. For this,
// kubectl calls the executable kubectl_complete-fieldowners, which is installed beside the plugin.
func (r *Reader) CompleteObjects(cmd *cobra.Command) {
	cmd.ValidArgsFunction = completion.ResourceTypeAndNameCompletionFunc(cmdutil.NewFactory(r.Config))
}
