package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// endWith has every request, and reading from stdin, end with the context: libraries
// that take none are among those who ask.
func (p *plugin) endWith(ctx context.Context) {
	p.done = ctx.Done()
	warnings := rest.NewWarningWriter(p.ErrOut, rest.WarningWriterOptions{Deduplicate: true}) // one for all clients
	p.config.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return ending{ctx, next} })
		config.WarningHandler = warnings
		return config
	}
}

// connect returns a client for appliers.
func (p *plugin) connect() (client.Client, error) {
	config, err := p.config.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	mapper, err := p.config.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	config.Wrap(apply.RecordExchange)
	return client.New(config, client.Options{Mapper: mapper})
}

// ending ends requests with a context that is not their own.
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
	response.Body = endingBody{response.Body, func() { stop(); cancel() }}
	return response, nil
}

// endingBody lets go of the context when the answer was read.
type endingBody struct {
	io.ReadCloser

	end func()
}

func (b endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// eachNamed handles the objects that arguments name, one after another. It goes on
// after one that fails, and says each error on stderr. The error says that
// something was found, or that something failed.
func (p *plugin) eachNamed(ctx context.Context, args []string, handle func(apply.ObjectRef) (found bool, err error)) error {
	objects, err := p.named(args)
	failed, found := p.say(err), false
	for _, object := range objects {
		finds, err := handle(object)
		failed, found = p.say(err) || failed, finds || found
		if ctx.Err() != nil {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case failed:
		return errSaid
	case found:
		return errFound
	}
	return nil
}

// say reports whether there is an error, and prints it.
func (p *plugin) say(err error) bool {
	var several utilerrors.Aggregate
	switch {
	case err == nil:
		return false
	case errors.As(err, &several):
		for _, one := range several.Errors() {
			p.say(one)
		}
	case !errors.Is(err, errSaid):
		fmt.Fprintln(p.ErrOut, oneLine(err))
	}
	return true
}

// named finds the objects of TYPE/NAME or TYPE NAME. Those that were found come with
// an error about the others.
func (p *plugin) named(args []string) (objects []apply.ObjectRef, err error) {
	namespace, _, err := p.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	err = resource.NewBuilder(p.config).
		Unstructured().
		NamespaceParam(namespace).DefaultNamespace().
		ResourceTypeOrNameArgs(false, args...).
		ContinueOnError().Flatten().
		Do().
		Visit(func(info *resource.Info, err error) error {
			if err == nil {
				objects = append(objects, refTo(info))
			}
			return err
		})
	return objects, err
}

func refTo(info *resource.Info) apply.ObjectRef {
	ref := apply.ObjectRef{
		GroupVersionKind: info.Mapping.GroupVersionKind,
		NamespacedName:   types.NamespacedName{Namespace: info.Namespace, Name: info.Name},
		ResourceVersion:  info.ResourceVersion,
	}
	if object, ok := info.Object.(client.Object); ok {
		ref.UID = object.GetUID()
	}
	return ref
}

// namesObjects refuses a command line without objects, or without their names.
func namesObjects(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError(cmd, "which object? Name one, such as deployment/web")
	}
	return nil
}
