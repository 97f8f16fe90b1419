package target

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"

	"coapply.dev/compare/results"
)

// describe returns the environment of a run. A value that the cluster does not expose stays empty.
func (t *Target) describe(ctx context.Context) results.Environment {
	e := results.Environment{
		Commit: commit(ctx), Go: runtime.Version(), Modules: modules(),
		OS: runtime.GOOS + "/" + runtime.GOARCH, Kernel: kernel(), CPU: cpuModel(), Cores: runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0), Memory: memory(), Limits: limits("/"),
		LocalCluster: t.IsLocal(), QPS: t.user.QPS, Encoding: "JSON",
	}
	e.Server, _ = t.serverVersion(ctx)
	e.User, e.Groups = t.whoIs(ctx)
	e.LoopbackP50 = t.emptyGet(ctx)
	if t.IsLocal() {
		t.describeLocal(ctx, &e)
	}
	return e
}

func (t *Target) describeLocal(ctx context.Context, e *results.Environment) {
	folder := t.cluster.Dir()
	e.FileSystem = fileSystem(folder)
	e.FsyncP50, e.FsyncP99 = measureFsync(ctx, folder)
	e.Etcd = etcdVersion(ctx, processes{folder}.etcd())
	e.APIServerFlags = map[string]string{}
	_, arguments, _ := processes{folder}.find("kube-apiserver")
	for _, argument := range arguments {
		name, value, _ := strings.Cut(argument, "=")
		e.APIServerFlags[name] = strings.ReplaceAll(value, folder, "RUN")
	}
	_, arguments, err := processes{folder}.find("etcd")
	if err == nil {
		e.EtcdFsync = fsyncOf(arguments)
	}
	for _, argument := range arguments {
		e.EtcdFlags = append(e.EtcdFlags, strings.ReplaceAll(argument, folder, "RUN"))
	}
}

// fsyncOf returns "off" if the given arguments of etcd switch fsync off with --unsafe-no-fsync, and otherwise "on".
func fsyncOf(arguments []string) string {
	if slices.ContainsFunc(arguments, func(argument string) bool {
		name, value, _ := strings.Cut(strings.TrimLeft(argument, "-"), "=")
		return name == "unsafe-no-fsync" && value != "false"
	}) {
		return "off"
	}
	return "on"
}

func (t *Target) serverVersion(ctx context.Context) (string, error) {
	body, err := t.set.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return "", err
	}
	var info version.Info
	if err := json.Unmarshal(body, &info); err != nil {
		return "", fmt.Errorf("reading the server's version: %w", err)
	}
	return info.GitVersion, nil
}

func etcdVersion(ctx context.Context, server string) string {
	body, _, err := get(ctx, http.DefaultClient, server+"/version")
	var info struct {
		Server string `json:"etcdserver"`
	}
	if err != nil || json.Unmarshal(body, &info) != nil {
		return ""
	}
	return info.Server
}

// whoIs asks the API server for the name and groups of the benchmark's user.
func (t *Target) whoIs(ctx context.Context) (string, []string) {
	user, err := kubernetes.NewForConfig(t.user)
	if err != nil {
		return "", nil
	}
	review, err := user.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", nil
	}
	return review.Status.UserInfo.Username, review.Status.UserInfo.Groups
}

// emptyGet returns the median latency of GET requests that read no object. The benchmark's user sends them on one
// open connection.
func (t *Target) emptyGet(ctx context.Context) *time.Duration {
	client, address, err := t.asUser()
	if err != nil {
		return nil
	}
	defer client.CloseIdleConnections()
	const warm, count = 5, 50
	took := make([]time.Duration, 0, warm+count)
	for range warm + count {
		begin := time.Now()
		if _, _, err := get(ctx, client, address); err != nil {
			return nil
		}
		took = append(took, time.Since(begin))
	}
	return percentile(took[warm:], 50)
}

func get(ctx context.Context, client *http.Client, address string) (body []byte, header http.Header, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("reading %s: the response is %s", address, response.Status)
	}
	body, err = io.ReadAll(response.Body)
	return body, response.Header, err
}

// percentile returns a percentile of the durations, or nil if there are none. It sorts its argument.
func percentile(took []time.Duration, percent int) *time.Duration {
	if len(took) == 0 {
		return nil
	}
	slices.Sort(took)
	at := min(len(took)*percent/100, len(took)-1)
	return &took[at]
}
