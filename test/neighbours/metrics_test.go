package neighbours

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"

	"coapply.dev/test/kit"
)

const metricsVersion = "metrics.k8s.io/v1beta1"

// metrics is the API server of metrics.k8s.io that a cluster with metrics-server has, behind an APIService: the pods of a
// namespace use as much CPU as a test says, and share it evenly.
type metrics struct {
	client kubernetes.Interface
	mu     sync.Mutex
	load   map[string]int64 // of a namespace, in thousandths of a core
}

// clusterMetrics is that of the cluster that the tests share.
var clusterMetrics struct {
	once sync.Once
	*metrics
	err error
}

// uses sets what the pods of the namespace use together, in thousandths of a core.
func (w *world) uses(milliCPU int64) {
	w.t.Helper()
	c := &clusterMetrics
	c.once.Do(func() {
		c.err = errors.New("they did not start in another test")
		c.metrics, c.err = startMetrics(w)
	})
	if c.err != nil {
		w.t.Fatal(c.err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load[w.Namespace] = milliCPU
}

// startMetrics serves, and registers what it serves. The API server reaches it by the name of a Service, which its certificate
// is for.
func startMetrics(w *world) (*metrics, error) {
	client, err := kubernetes.NewForConfig(w.Config())
	if err != nil {
		return nil, err
	}
	m := &metrics{client: client, load: map[string]int64{}}
	const namespace, service = "kube-system", "metrics"
	certificate, key, err := cert.GenerateSelfSignedCertKey(service, nil, []string{service + "." + namespace + ".svc"})
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	server := httptest.NewUnstartedServer(m)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.Config.ErrorLog = log.New(kit.StartLog(), "metrics: ", 0)
	server.StartTLS()
	kit.OnStop(func(context.Context) error { server.CloseClientConnections(); server.Close(); return nil })

	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	for _, object := range []string{fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: %s}
spec: {type: ExternalName, externalName: localhost}
`, service, namespace), fmt.Sprintf(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  service: {name: %s, namespace: %s, port: %s}
  caBundle: %s
`, service, namespace, port, base64.StdEncoding.EncodeToString(certificate))} {
		command := w.kubectlCommand("apply", "--server-side", "--namespace", namespace, "-f", "-")
		command.Stdin = strings.NewReader(object)
		w.must(command)
	}
	w.must(w.kubectlCommand("wait", "--for", "condition=Available", "apiservice/v1beta1.metrics.k8s.io", "--timeout", "60s"))
	return m, nil
}

// ServeHTTP answers discovery, and lists of the metrics of pods. The types of k8s.io/metrics are no more than this.
func (m *metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any
	var err error
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/apis/"+metricsVersion:
		answer = metav1.APIResourceList{
			TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
			GroupVersion: metricsVersion,
			APIResources: []metav1.APIResource{{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}}},
		}
	case len(path) == 6 && path[3] == "namespaces" && path[5] == "pods":
		answer, err = m.list(r.Context(), path[4], r.URL.Query().Get("labelSelector"))
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // who has gone reads no error either
}

func (m *metrics) list(ctx context.Context, namespace, selector string) (any, error) {
	pods, err := m.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	load := m.load[namespace]
	m.mu.Unlock()
	running := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil
	})
	items := []any{}
	for i := range running {
		items = append(items, map[string]any{
			"metadata":  map[string]any{"name": running[i].Name, "namespace": namespace},
			"timestamp": metav1.Now(), "window": "1s",
			"containers": []any{map[string]any{"name": running[i].Spec.Containers[0].Name,
				"usage": map[string]any{"cpu": fmt.Sprintf("%dm", load/int64(len(running))), "memory": "1Mi"}}},
		})
	}
	return map[string]any{"kind": "PodMetricsList", "apiVersion": metricsVersion, "metadata": map[string]any{}, "items": items}, nil
}
