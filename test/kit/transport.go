package kit

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// RoundTripper is a function that implements http.RoundTripper.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Refusing returns a function that returns a response with the given error status.
func Refusing(code int, reason metav1.StatusReason) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"told so","reason":%q,"code":%d}`, reason, code)
		header := http.Header{"Content-Type": []string{"application/json"}}
		return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// Meddler is a Reader that calls the function Then after each of the first Times reads.
type Meddler struct {
	client.Reader

	Times int
	Then  func()
}

// Get reads an object, and calls Then after the read, at most Times times in all.
func (m *Meddler) Get(ctx context.Context, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
	err := m.Reader.Get(ctx, key, into, o...)
	if m.Times--; m.Times >= 0 {
		m.Then()
	}
	return err
}

// RecordedConfig returns a configuration of the test's API server that records exchanges, as an Applier needs.
func RecordedConfig(t *testing.T) *rest.Config {
	config := rest.CopyConfig(Server(t))
	config.Wrap(apply.RecordExchange)
	return config
}
