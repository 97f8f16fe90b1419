package applytest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/apply"
)

// render returns the intents as a stream of YAML documents.
func render(intents []apply.Intent) (string, error) {
	check, err := checker()
	if err != nil {
		return "", err
	}
	var documents []string
	for i, intent := range intents {
		if err := check(intent); err != nil {
			return "", fmt.Errorf("intent %d of %d: %w", i+1, len(intents), err)
		}
		documents = append(documents, documentsOf(intent)...)
	}
	if len(documents) == 0 {
		return "# no intents\n", nil
	}
	return strings.Join(documents, "---\n"), nil
}

// documentsOf returns the configuration below a comment with the other fields of the intent. It
// goes through all fields of Intent, so that none is forgotten: a further configuration, such
// as the body of a subresource, is a document of its own. Each can be written: checker has
// encoded it.
func documentsOf(intent apply.Intent) []string {
	config, _ := yaml.Marshal(intent.Config)
	var document strings.Builder
	var others []string
	for field, value := range reflect.ValueOf(intent).Fields() {
		if field.Name == "Config" || value.IsZero() {
			continue
		}
		if body, ok := reflect.TypeAssert[runtime.ApplyConfiguration](value); ok {
			raw, _ := yaml.Marshal(body)
			others = append(others, fmt.Sprintf("# %s of the intent above\n%s", field.Name, raw))
			continue
		}
		fmt.Fprintf(&document, "# %s: %v\n", field.Name, value.Interface())
	}
	document.Write(config)
	return append([]string{document.String()}, others...)
}

// checker returns a function that returns why apply refuses an intent: an Applier whose context
// has ended refuses an invalid intent, and sends nothing for a valid one.
func checker() (func(apply.Intent) error, error) {
	nowhere := &rest.Config{Host: "http://no-server.invalid", Transport: unreachable{}}
	c, err := client.New(nowhere, client.Options{Scheme: runtime.NewScheme(), Mapper: meta.NewDefaultRESTMapper(nil)})
	if err != nil {
		return nil, err
	}
	applier, err := apply.New(c, apply.Config{FieldManager: "applytest", LiveReader: c})
	if err != nil {
		return nil, err
	}
	ended, end := context.WithCancel(context.Background())
	end()
	return func(intent apply.Intent) error {
		if _, err := applier.Apply(ended, intent); errors.Is(err, apply.ErrInvalidIntent) {
			return err
		}
		return nil
	}, nil
}

// unreachable is a transport that reaches no server.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("there is no server behind a golden file")
}
