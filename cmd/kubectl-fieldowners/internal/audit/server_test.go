package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
)

// pages are the pages of corpora in files, so that they are on no heap.
type pages struct {
	folder string
	bytes  int64
}

// writePages writes half of the objects as Deployments, half as Pods.
func writePages(t testing.TB, all corpus) pages {
	t.Helper()
	p := pages{folder: t.TempDir()}
	for _, resource := range []string{"deployments", "pods"} {
		c := all
		c.objects, c.pods = all.objects/2, resource == "pods"
		for start, more := 0, true; more; {
			text, next := c.page(start)
			sent := asProtobuf(t, text)
			if err := os.WriteFile(filepath.Join(p.folder, resource+strconv.Itoa(start)), sent, 0o600); err != nil {
				t.Fatal(err)
			}
			p.bytes += int64(len(sent))
			start, more = next, next > 0
		}
	}
	return p
}

// asProtobuf returns a page as API servers send it to a client that prefers Protocol Buffers,
// which client-go's metadata client does.
func asProtobuf(t testing.TB, page []byte) []byte {
	t.Helper()
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(page, &list); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(&list, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ServeHTTP answers like an API server that has these two kinds alone.
func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if text, known := discoveryOfTwo[r.URL.Path]; known {
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		_, _ = w.Write([]byte(text))
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	start, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	switch r.URL.Path {
	case "/apis/apps/v1/deployments", "/api/v1/pods":
		http.ServeFile(w, r, filepath.Join(p.folder, path.Base(r.URL.Path)+strconv.Itoa(start)))
	default:
		http.NotFound(w, r)
	}
}

// discoveryOfTwo is what an API server says of itself that has Deployments and Pods.
var discoveryOfTwo = map[string]string{
	"/api": `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],` +
		`"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}]}`,
	"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","singularName":"pod",` +
		`"namespaced":true,"kind":"Pod","verbs":["get","list","patch"]}]}`,
	"/apis/apps/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[{"name":"deployments",` +
		`"singularName":"deployment","namespaced":true,"shortNames":["deploy"],"kind":"Deployment","verbs":["get","list","patch"]}]}`,
}

// auditOf runs the command against a server.
func auditOf(ctx context.Context, t testing.TB, handler http.Handler, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	var out, errs bytes.Buffer
	args = append([]string{"--server", server.URL, "--cache-dir", t.TempDir()}, args...)
	code = console.Run(ctx, newRoot, args, nil, &out, &errs)
	return code, out.String(), errs.String()
}

func newRoot(streams genericiooptions.IOStreams) *cobra.Command {
	r := objects.NewReader(&console.Console{IOStreams: streams})
	cmd := New(r)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.PersistentPreRun = func(cmd *cobra.Command, _ []string) { r.EndWith(cmd.Context()) }
	r.AddFlags(cmd)
	return cmd
}
