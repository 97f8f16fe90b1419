package applyset_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/test/kit/answers"
)

const manager = "coapply-test"

// What the API server answers, see package answers.
type answer = answers.Answer

var (
	ok, created, fail, give = answers.OK, answers.Created, answers.Fail, answers.Give
	conflict, cause, entry  = answers.Conflict, answers.Cause, answers.Entry
)

// step is a request that a script expects, and its answer.
type step struct {
	request string
	answer  answer
}

// setScript is an API server that expects these requests, written out in full, in
// this order. It knows ConfigMaps and Secrets.
type setScript struct {
	*testing.T

	steps  []step
	sent   int
	mapper map[string]error // by kind: why its versions are not known
}

// versions is a REST mapper that fails as its script says.
type versions struct {
	meta.RESTMapper
	*setScript
}

func (v versions) RESTMappings(kind schema.GroupKind, of ...string) ([]*meta.RESTMapping, error) {
	if err := v.mapper[kind.Kind]; err != nil {
		return nil, err
	}
	return v.RESTMapper.RESTMappings(kind, of...)
}

func (v versions) RESTMapping(kind schema.GroupKind, of ...string) (*meta.RESTMapping, error) {
	if len(of) == 0 && v.mapper[kind.Kind] != nil { // else a request
		return nil, v.mapper[kind.Kind]
	}
	return v.RESTMapper.RESTMapping(kind, of...)
}

func (s *setScript) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	got := s.describe(request)
	if s.sent++; s.sent > len(s.steps) {
		s.Errorf("request %d: %s; no more was expected", s.sent, got)
		return nil, errors.New("the script has ended")
	}
	if next := s.steps[s.sent-1]; got != next.request {
		s.Errorf("request %d:\n got %s\nwant %s", s.sent, got, next.request)
	}
	return s.steps[s.sent-1].answer(request)
}

// describe returns method, path below the namespace, query and body.
func (s *setScript) describe(request *http.Request) string {
	text := request.Method + " " + strings.TrimPrefix(request.URL.Path, "/api/v1/namespaces/shop/")
	query := request.URL.Query()
	query.Del("force")
	if selector := query.Get("labelSelector"); selector == applyset.PartOfLabel+"="+setID {
		query.Set("labelSelector", "members")
	}
	if encoded := query.Encode(); encoded != "" {
		text += "?" + encoded
	}
	if request.Body == nil {
		return text
	}
	defer request.Body.Close()
	raw, err := io.ReadAll(request.Body)
	if err != nil {
		s.Errorf("body of %s: %v", text, err)
	}
	if request.Method == http.MethodDelete {
		return text + " " + s.deleteOptions(raw)
	}
	if len(raw) > 0 {
		text += " " + string(raw)
	}
	return strings.ReplaceAll(text, setID, "SET")
}

// deleteOptions returns the preconditions and the propagation. They are sent as
// Protobuf.
func (s *setScript) deleteOptions(raw []byte) string {
	var options metav1.DeleteOptions
	if _, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(raw, nil, &options); err != nil {
		s.Errorf("delete options: %v", err)
		return ""
	}
	pinned := options.Preconditions
	if pinned == nil || pinned.UID == nil || pinned.ResourceVersion == nil || options.PropagationPolicy == nil {
		return options.String()
	}
	return fmt.Sprintf("uid=%s resourceVersion=%s %s", *pinned.UID, *pinned.ResourceVersion, *options.PropagationPolicy)
}

// expect begins another script; the one before must have ended.
func (s *setScript) expect(steps ...step) {
	s.Helper()
	if s.sent < len(s.steps) {
		s.Errorf("%d of %d requests were sent; next expected: %s", s.sent, len(s.steps), s.steps[s.sent].request)
	}
	s.steps, s.sent = steps, 0
}

func newSetScript(t *testing.T) *setScript {
	s := &setScript{T: t}
	t.Cleanup(func() { s.expect() })
	return s
}

func (s *setScript) client(server http.RoundTripper) client.Client {
	s.Helper()
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	config := &rest.Config{Host: "http://server", Transport: server, QPS: -1}
	config.Wrap(apply.RecordExchange)
	c, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme, Mapper: versions{mapper, s}})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

func (s *setScript) sets(policy apply.Policy) *applyset.Sets {
	s.Helper()
	sets, err := applyset.New(s.applier(policy))
	if err != nil {
		s.Fatal(err)
	}
	return sets
}

func (s *setScript) applier(policy apply.Policy) *apply.Applier {
	s.Helper()
	c := s.client(s)
	applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c, Policy: policy})
	if err != nil {
		s.Fatal(err)
	}
	return applier
}

// setID is that of the ConfigMap web in the namespace shop.
var setID = applyset.ID(apply.ObjectRef{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	NamespacedName:   types.NamespacedName{Namespace: "shop", Name: "web"},
})

// setParent is the ConfigMap web; with kinds it says that it has a set of these.
func setParent(kinds ...string) *corev1.ConfigMap {
	parent := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-1", ResourceVersion: "7"},
	}
	if len(kinds) > 0 {
		parent.Labels = map[string]string{"applyset.kubernetes.io/id": setID}
		parent.Annotations = map[string]string{
			"applyset.kubernetes.io/tooling":              manager + "/v1",
			"applyset.kubernetes.io/contains-group-kinds": strings.Join(kinds, ","),
		}
	}
	return parent
}

func announces(kinds string) string {
	return `PATCH configmaps/web?fieldManager=` + manager + `-applyset {"apiVersion":"v1","kind":"ConfigMap","metadata":{` +
		`"annotations":{"applyset.kubernetes.io/contains-group-kinds":"` + kinds + `","applyset.kubernetes.io/tooling":"` + manager + `/v1"},` +
		`"labels":{"applyset.kubernetes.io/id":"SET"},"name":"web","namespace":"shop","resourceVersion":"7","uid":"uid-1"}}`
}

// withPartials has an announcement name partial intents as well.
func withPartials(announcement string, partials ...string) string {
	named, err := json.Marshal(partials)
	if err == nil {
		named, err = json.Marshal(string(named))
	}
	if err != nil {
		panic(err)
	}
	const before = `/v1"},"labels"`
	return strings.Replace(announcement, before, `/v1","coapply.dev/partial-intents":`+string(named)+`},"labels"`, 1)
}

func applies(kind, name string) string {
	return "PATCH " + strings.ToLower(kind) + "s/" + name + "?fieldManager=" + manager +
		` {"kind":"` + kind + `","apiVersion":"v1","metadata":{"name":"` + name + `","namespace":"shop","labels":{"applyset.kubernetes.io/part-of":"SET"}}}`
}

func named(kind, name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"},
	}
}

// joins are the requests of a first apply of a member: is it in another set?
func joins(kind, name string) []step {
	read := "GET " + strings.ToLower(kind) + "s/" + name
	absent := fail(apierrors.NewNotFound(schema.GroupResource{Resource: strings.ToLower(kind) + "s"}, name))
	return []step{{read, absent}, {applies(kind, name), created(named(kind, name))}}
}

func emits(intents ...apply.Intent) func() ([]apply.Intent, error) {
	return func() ([]apply.Intent, error) { return intents, nil }
}

func emitsConfigMap(name string) func() ([]apply.Intent, error) {
	return emits(apply.Intent{Config: corev1ac.ConfigMap(name, "shop")})
}

// What kubectl makes of the same parent (its tests have it).
func TestApplySetID(t *testing.T) {
	parent := apply.ObjectRef{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Secret"),
		NamespacedName:   types.NamespacedName{Namespace: "test", Name: "my-set"},
	}
	if got := applyset.ID(parent); got != "applyset-0eFHV8ySqp7XoShsGvyWFQD3s96yqwHmzc4e0HR1dsY-v1" {
		t.Error(got)
	}
}

func TestParentsRefused(t *testing.T) {
	for says, parent := range map[string]client.Object{
		"is <nil>(nil)":                nil,
		"is *v1.ConfigMap(nil)":        (*corev1.ConfigMap)(nil),
		"needs its resourceVersion":    &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "uid-1"}},
		"needs its uid":                &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
		"looking up the kind of the":   &metav1.PartialObjectMetadata{},
		"the kind of the set's parent": struct{ *corev1.ConfigMap }{},
	} {
		round := newSetScript(t).sets(apply.Policy{}).Apply(t.Context(), parent, emitsConfigMap("a"))
		if err := errors.Join(round.Errs...); !errors.Is(err, apply.ErrInvalidIntent) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want it to say %q", err, says)
		}
	}
}

// A long field manager leaves room for the parent's.
func TestLongFieldManager(t *testing.T) {
	s := newSetScript(t)
	long := strings.Repeat("m", 127) + "é"
	c := s.client(s)
	for _, name := range []string{long[:127], long[:120] + "ééé"} {
		applier, err := apply.New(c, apply.Config{FieldManager: name, LiveReader: c})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := applyset.New(applier); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
