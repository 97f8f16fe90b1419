package target

import (
	"context"
	"runtime"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare/results"
)

// describe returns the environment of a run, in which user is the client of the arms' user. A value that the cluster does not
// expose stays empty.
func (t *Target) describe(ctx context.Context, user client.Client) results.Environment {
	e := results.Environment{
		Commit: Commit(), Go: runtime.Version(),
		OS: runtime.GOOS + "/" + runtime.GOARCH, Kernel: kernel(), CPU: cpuModel(), Cores: runtime.NumCPU(),
		Limits: limits(), LocalCluster: t.IsLocal(),
	}
	if version, err := t.serverVersion(ctx); err == nil {
		e.Server = version.GitVersion
	}
	var review authenticationv1.SelfSubjectReview
	if err := user.Create(ctx, &review); err == nil {
		e.User, e.Groups = review.Status.UserInfo.Username, review.Status.UserInfo.Groups
	}
	if !t.IsLocal() {
		return e
	}
	folder := t.cluster.Dir()
	e.FileSystem = fileSystem(folder)
	e.FsyncP50, e.FsyncP99 = measureFsync(ctx, folder)
	for _, version := range t.Scrape(ctx).etcd[etcdVersion] {
		e.Etcd = version.GetLabel()[0].GetValue()
	}
	if _, arguments, err := (processes{folder}).find("etcd"); err == nil {
		e.EtcdFsync = fsyncOf(arguments)
	}
	return e
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
