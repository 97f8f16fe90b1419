package apply_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
)

// landing answers each apply as the API server does with one ConfigMap of four field managers, each of which has a key.
// Nothing of it is on a network.
type landing struct{ version int }

func (l *landing) RoundTrip(request *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, request.Body)
	l.version++
	var entries, data []string
	for i := range 4 {
		entries = append(entries, fmt.Sprintf(`{"manager":"m%d","operation":"Apply","apiVersion":"v1","time":"2026-11-23T14:00:00Z",`+
			`"fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:m%d":{}}}}`, i, i))
		data = append(data, fmt.Sprintf(`"m%d":"w0-%d"`, i, l.version))
	}
	body := fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"web","namespace":"shop","uid":"0000-1","resourceVersion":"%d",`+
		`"creationTimestamp":"2026-11-23T14:00:00Z","managedFields":[%s]},"data":{%s}}`, l.version, strings.Join(entries, ","), strings.Join(data, ","))
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader([]byte(body))), Request: request,
	}, err
}

// BenchmarkLanding is what a client pays for an apply that lands: through an Applier, and by client.Apply.
func BenchmarkLanding(b *testing.B) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	server := &landing{}
	config := &rest.Config{Host: "http://server", Transport: server, QPS: -1}
	config.Wrap(apply.RecordExchange)
	c, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme, Mapper: mapper})
	if err != nil {
		b.Fatal(err)
	}
	applier, err := apply.New(c, apply.Config{FieldManager: "m0", LiveReader: c, Lanes: lanes.New()})
	if err != nil {
		b.Fatal(err)
	}
	lands := func(name string, applyIt func(value string) error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := applyIt(fmt.Sprint("w0-", server.version+1)); err != nil { // which the answer has
					b.Fatal(err)
				}
			}
		})
	}
	typed := func(value string) *corev1ac.ConfigMapApplyConfiguration {
		return corev1ac.ConfigMap("web", "shop").WithData(map[string]string{"m0": value})
	}
	untyped := func(value string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "web", "namespace": "shop"},
			"data": map[string]any{"m0": value},
		}}
	}
	lands("typed/client.Apply", func(value string) error { return c.Apply(b.Context(), typed(value), client.FieldOwner("m0")) })
	lands("typed/Applier", func(value string) error {
		_, err := applier.Apply(b.Context(), apply.Intent{Config: typed(value)})
		return err
	})
	lands("unstructured/client.Apply", func(value string) error {
		return c.Apply(b.Context(), client.ApplyConfigurationFromUnstructured(untyped(value)), client.FieldOwner("m0"))
	})
	lands("unstructured/Applier", func(value string) error {
		_, err := applier.Apply(b.Context(), apply.Intent{Config: client.ApplyConfigurationFromUnstructured(untyped(value))})
		return err
	})
}
