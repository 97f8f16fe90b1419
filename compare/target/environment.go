package target

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"

	"coapply.dev/compare/results"
)

// describe returns the environment of a run. A value that the cluster does not expose stays empty.
func (t *Target) describe(ctx context.Context) results.Environment {
	e := results.Environment{
		Commit: commit(), Go: runtime.Version(),
		OS: runtime.GOOS + "/" + runtime.GOARCH, Kernel: kernel(), CPU: cpuModel(), Cores: runtime.NumCPU(),
		Memory: memory(), Limits: limits(),
		LocalCluster: t.IsLocal(), Encoding: "JSON",
	}
	e.Server, _ = t.serverVersion(ctx)
	e.User, e.Groups = t.whoIs(ctx)
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
	if _, arguments, err := (processes{folder}).find("etcd"); err == nil {
		e.EtcdFsync = fsyncOf(arguments)
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
	err = json.Unmarshal(body, &info)
	return info.GitVersion, err
}

func etcdVersion(ctx context.Context, server string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/version", http.NoBody)
	if err != nil {
		return ""
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	var info struct {
		Server string `json:"etcdserver"`
	}
	_ = json.NewDecoder(response.Body).Decode(&info) // without a version, the field stays empty
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
