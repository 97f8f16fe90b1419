package ownership_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit/answers"
)

const manager = "coapply-test"

// What the API server answers, see package answers.
type answer = answers.Answer

var (
	ok, fail, breaks, stale, otherUID = answers.OK, answers.Fail, answers.Breaks, answers.Stale, answers.OtherUID
	web, entry, deployments           = answers.Web, answers.Entry, answers.Deployments
)

// step is a request that a script expects, and its answer.
type step struct {
	request string
	answer  answer
}

// script is an API server that expects these requests and no others, in this order. It
// tells a PATCH by its guards and the entries it stores.
type script struct {
	t     *testing.T
	steps []step
	sent  int
}

func (w *script) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	got := request.Method + " " + strings.TrimPrefix(request.URL.Path, "/apis/")
	if request.Method == http.MethodPatch {
		got = w.patch(request)
	}
	got = strings.TrimSuffix(got, " apps/v1/namespaces/shop/deployments/web")
	if w.sent++; w.sent > len(w.steps) {
		w.t.Errorf("request %d: %s; no more was expected", w.sent, got)
		return nil, errors.New("the script has ended")
	}
	next := w.steps[w.sent-1]
	if got != next.request {
		w.t.Errorf("request %d:\n got %s\nwant %s", w.sent, got, next.request)
	}
	return next.answer(request)
}

func (w *script) patch(request *http.Request) string {
	query, dryRun := strings.CutPrefix(request.URL.RawQuery, "dryRun=All&")
	if got := request.Header.Get("Content-Type") + " " + query; got != "application/json-patch+json fieldManager="+manager {
		w.t.Errorf("request %d: %s", w.sent+1, got)
	}
	raw, err := io.ReadAll(request.Body)
	if err != nil {
		w.t.Error(err)
	}
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(raw, &operations); err != nil {
		w.t.Error(err)
	}
	text := "PATCH"
	if dryRun {
		text = "dry run, PATCH"
	}
	for _, o := range operations {
		if o.Path != "/metadata/managedFields" {
			text += fmt.Sprintf(" %s %s=%s", o.Op, strings.TrimPrefix(o.Path, "/metadata/"), o.Value)
			continue
		}
		var entries []metav1.ManagedFieldsEntry
		if err := json.Unmarshal(o.Value, &entries); err != nil {
			w.t.Error(err)
		}
		for _, e := range entries {
			text += fmt.Sprintf(" | %s %s[%s] %s", e.Manager, e.Operation, e.Subresource, e.FieldsV1.GetRawBytes())
		}
	}
	return text
}

// transferrer is an applier whose server is the script.
func transferrer(t *testing.T, steps ...step) *apply.Applier {
	t.Helper()
	w := &script{t: t, steps: steps}
	t.Cleanup(func() {
		if w.sent < len(steps) {
			t.Errorf("%d of %d requests were sent; next expected: %s", w.sent, len(steps), steps[w.sent].request)
		}
	})
	c := clientOf(t, w)
	a, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func clientOf(t *testing.T, server *script) client.Client {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: "http://server", Transport: server, QPS: -1}, client.Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func theWeb(uid types.UID) apply.ObjectRef {
	return apply.ObjectRef{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"),
		NamespacedName:   types.NamespacedName{Namespace: "shop", Name: "web"}, UID: uid,
	}
}

// webOf is the deployment with these entries.
func webOf(uid, resourceVersion string, entries ...metav1.ManagedFieldsEntry) answer {
	d := web(uid, resourceVersion)
	d.ManagedFields = entries
	return ok(d)
}

const replicasField, pausedField = `{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:paused":{}}}`

var (
	oldReplicas = entry("old", "Update", "", replicasField)
	newReplicas = entry(manager, "Apply", "", replicasField)
	pause       = entry("other", "Apply", "", pausedField)

	oldReplicasOfFormerDays = func() metav1.ManagedFieldsEntry {
		e := oldReplicas
		e.APIVersion = "apps/v1beta1"
		return e
	}()

	// former is someone else's, in an apiVersion of former days.
	former = func() metav1.ManagedFieldsEntry {
		e := entry("former", "Update", "", pausedField)
		e.APIVersion = "apps/v0"
		return e
	}()
	formerText = " | former Update[] " + pausedField

	read      = step{"GET", webOf("uid-1", "7", oldReplicas)}
	patchTo   = func(rv string) string { return patchOf(rv, " | "+manager+" Apply[] "+replicasField) }
	patchBack = func(rv string) string { return patchOf(rv, " | old Update[] "+replicasField) }
	refGone   = fail(apierrors.NewNotFound(deployments, "web"))
)

func patchOf(rv, entries string) string {
	return fmt.Sprintf(`PATCH replace uid="uid-1" replace resourceVersion=%q%s`, rv, entries)
}
