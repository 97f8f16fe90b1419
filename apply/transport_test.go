package apply_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

const manager = "coapply-test"

// step is a request that a script expects, as describe tells it, and its answer.
type step struct {
	request string
	answer  answer
}

// script is an API server that expects these requests and no others, in this
// order. A real client stands above it, so that what client-go does with an answer
// is part of each test.
type script struct {
	t      *testing.T
	mu     sync.Mutex
	steps  []step
	sent   int
	bodies []string // of the PATCHes
}

func newScript(t *testing.T, steps []step) *script {
	s := &script{t: t, steps: steps}
	t.Cleanup(func() {
		if s.sent < len(steps) {
			t.Errorf("%d of %d requests were sent; next expected: %s", s.sent, len(steps), steps[s.sent].request)
		}
	})
	return s
}

// RoundTrip checks a request and answers it. Like an http.Transport it sends
// nothing once the context has ended.
func (s *script) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	got, err := s.describe(request)
	if err != nil {
		s.t.Errorf("request %d: %v", s.sent+1, err)
	}
	s.mu.Lock()
	if s.sent++; s.sent > len(s.steps) {
		s.mu.Unlock()
		s.t.Errorf("request %d: %s; no more was expected", s.sent, got)
		return nil, errors.New("the script has ended")
	}
	next := s.steps[s.sent-1]
	s.mu.Unlock()
	if got != next.request {
		s.t.Errorf("request %d:\n got %s\nwant %s", s.sent, got, next.request)
	}
	return next.answer(request)
}

// describe gives the method, then of a PATCH what its body is pinned to and
// whether it forces. What is the same in all requests is checked here.
func (s *script) describe(request *http.Request) (string, error) {
	if !strings.HasPrefix(request.URL.Path, "/api") || !strings.Contains(request.URL.Path, "/namespaces/shop/") {
		return request.Method, fmt.Errorf("path %s", request.URL.Path)
	}
	if request.Method != http.MethodPatch {
		return request.Method, nil
	}
	defer request.Body.Close()
	raw, err := io.ReadAll(request.Body)
	if err != nil {
		return request.Method, err
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, string(raw))
	s.mu.Unlock()
	var body metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &body); err != nil {
		return request.Method, err
	}
	text := request.Method
	if body.UID != "" {
		text += " uid=" + string(body.UID)
	}
	if body.ResourceVersion != "" {
		text += " resourceVersion=" + body.ResourceVersion
	}
	query := request.URL.Query()
	if query.Get("force") == "true" {
		text += " force"
	}
	if query.Get("fieldManager") == fieldowners.BeforeFirstApply {
		text += " by " + fieldowners.BeforeFirstApply
		query.Set("fieldManager", manager)
	}
	query.Del("force")
	query.Del("timeout") // of the client, if it has one
	if request.Header.Get("Content-Type") == "application/merge-patch+json" {
		return "MERGE" + strings.TrimPrefix(text, request.Method), nil
	}
	if got := query.Encode(); got != "fieldManager="+manager {
		return text, fmt.Errorf("query %s", got)
	}
	if got := request.Header.Get("Content-Type"); got != "application/apply-patch+yaml" {
		return text, fmt.Errorf("content type %s", got)
	}
	return text, nil
}

// restConfig is for clients of the script. Without recorded there is no
// RecordExchange.
func (s *script) restConfig(recorded bool) *rest.Config {
	config := &rest.Config{Host: "http://server", Transport: s, QPS: -1}
	if recorded {
		config.Wrap(apply.RecordExchange)
	}
	return config
}

// client reads from the cache, or without one from the server.
func (s *script) client(config *rest.Config, cache client.Reader) client.Client {
	s.t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}, meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	options := client.Options{Scheme: clientgoscheme.Scheme, Mapper: mapper}
	if cache != nil {
		options.Cache = &client.CacheOptions{Reader: cache}
	}
	c, err := client.New(config, options)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// applier is one with everything recorded.
func (s *script) applier(policy apply.Policy, cache client.Reader) *apply.Applier {
	s.t.Helper()
	return s.applierOver(s.restConfig(true), apply.Config{Policy: policy}, cache)
}

func (s *script) applierOver(rest *rest.Config, config apply.Config, cache client.Reader) *apply.Applier {
	s.t.Helper()
	config.FieldManager = cmp.Or(config.FieldManager, manager)
	config.LiveReader = s.client(rest, nil)
	applier, err := apply.New(s.client(rest, cache), config)
	if err != nil {
		s.t.Fatal(err)
	}
	return applier
}
