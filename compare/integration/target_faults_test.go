package compare

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"coapply.dev/compare/target"
	"coapply.dev/test/kit"
)

// A preparation that fails midway leaves nothing, not even what was created without an answer that says so.
func TestCompareTargetLeavesNothingHalfMade(t *testing.T) {
	transport, err := rest.TransportFor(kit.Server(t))
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(kit.Server(t).Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(address)
	proxy.Transport = transport
	bound := false
	lossy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/rolebindings") {
			answer := httptest.NewRecorder()
			proxy.ServeHTTP(answer, r)
			bound = answer.Code == http.StatusCreated
			panic(http.ErrAbortHandler) // the connection is gone, the object is there
		}
		proxy.ServeHTTP(w, r)
	}))
	defer lossy.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	err = clientcmd.WriteToFile(api.Config{
		Clusters:  map[string]*api.Cluster{"c": {Server: lossy.URL}},
		AuthInfos: map[string]*api.AuthInfo{"u": {}},
		Contexts:  map[string]*api.Context{"lossy": {Cluster: "c", AuthInfo: "u"}}, CurrentContext: "lossy",
	}, file)
	if err != nil {
		t.Fatal(err)
	}
	namespace := ""
	_, err = target.Connect(t.Context(), target.Options{Kubeconfig: file, Log: t.Output()}, func(question string) (bool, error) {
		namespace = regexp.MustCompile(`compare-[a-z0-9]+`).FindString(question)
		return namespace != "", nil
	})
	if err == nil || !strings.Contains(err.Error(), "creating *v1.RoleBinding "+namespace+"/writer") || !bound {
		t.Errorf("error %v, bound %v; want the RoleBinding named, which was created", err, bound)
	}
	wantNothingOf(t, kit.NewClient(t, kit.Server(t)), namespace)
}
