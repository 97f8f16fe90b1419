// Package localcluster runs a real Kubernetes control plane on this machine, without Docker and without a download
// outside the Go module proxy.
//
// [Ensure] compiles etcd, the Kubernetes components, kubectl and kwok from the modules pinned in tools/cluster, once
// for each version, into the user's cache folder. The environment variable K8S selects the version of Kubernetes,
// such as 1.36.3. The default is the version in tools/cluster/go.mod. [Start] runs a whole cluster with kwokctl, and
// kwok simulates the nodes. [StartAPIServer] runs only etcd and kube-apiserver, with envtest. [Cluster.ActAs] lets a
// program act as a service account. [Clean] deletes the compiled binaries and the folders of old runs.
//
//	cluster, err := localcluster.Start(ctx, localcluster.Options{Name: "demo", Nodes: 3, Log: os.Stderr})
//	if err != nil {
//		return err
//	}
//	defer cluster.Stop(context.WithoutCancel(ctx)) // with a cancelled context, Stop would not wait until the processes have ended
//	c, err := kubernetes.NewForConfig(cluster.Config())
//
// The package guarantees:
//
//  1. No process of a cluster outlives the process that started the cluster. A watchdog process waits on a pipe that
//     only the starting process holds open. The pipe closes when the starting process stops, panics or is killed. The
//     watchdog then kills every process of the run and deletes the run folder. After a power cut, the next start
//     deletes the run folder.
//  2. All servers listen on loopback only.
//  3. The user's kubeconfig, ~/.kwok and KWOK_ variables are neither read nor written.
//  4. Any number of clusters can run at once. Each cluster has its own run folder and its own ports.
//  5. Simulated pods terminate as real pods do: see stages/pod-terminate.yaml. A pod with a finalizer stays until the
//     finalizer is removed.
//
// The watchdog recognises the processes of a run by the path of their executable, which is a link in the run folder.
// Never start a process of a run by another path:
//
//	exec.Command(binaries.Etcd, "--data-dir", dir) // wrong: the watchdog will not stop this process
//
// The package works on Linux and macOS only, because it needs /bin/sh, flock and process groups.
package localcluster

import "errors"

var (
	// ErrNoCheckout means that the working directory is not inside a checkout of coapply, which has the pinned modules.
	ErrNoCheckout = errors.New("not inside a checkout of coapply")
	// ErrVersion means that the environment variable K8S names a version that tools/cluster does not have.
	ErrVersion = errors.New("tools/cluster does not have this version of Kubernetes")
	// ErrGoToolchain means that Go is not on the PATH, or is too old to build the control plane.
	ErrGoToolchain = errors.New("no usable Go toolchain")
	// ErrDiskSpace means that the disk has no room for a build.
	ErrDiskSpace = errors.New("not enough disk space")
	// ErrBuild means that the go command failed; the error has the last lines that the command printed.
	ErrBuild = errors.New("building the control plane failed")
	// ErrMissingBinary means that a binary is missing or cannot be executed.
	ErrMissingBinary = errors.New("missing binary")
	// ErrPortTaken means that another process already listens on the requested port.
	ErrPortTaken = errors.New("port already taken")
	// ErrStart means that the components did not start or become ready; the error has the last lines of their logs.
	ErrStart = errors.New("the control plane did not become ready")
)
