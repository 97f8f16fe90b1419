// Package localcluster runs a real Kubernetes control plane on this machine, without Docker and without a download
// outside the Go module proxy.
//
// [Ensure] compiles etcd, the kube- components, kubectl and kwok from the modules pinned in tools/cluster, once per
// version, into the user's cache folder. The version of Kubernetes is that of tools/cluster/go.mod, or the one that the
// environment variable K8S names, such as 1.36.3. [Start] runs a whole cluster (kwokctl drives it, kwok
// plays the kubelet of its nodes). [StartAPIServer] runs etcd and kube-apiserver alone (envtest drives them).
// [Cluster.ActAs] lets a program act as a service account. [Clean] gives the disk space back.
//
//	cluster, err := localcluster.Start(ctx, localcluster.Options{Name: "demo", Nodes: 3, Log: os.Stderr})
//	if err != nil {
//		return err
//	}
//	defer cluster.Stop(context.WithoutCancel(ctx)) // a cancelled context would not wait for the end
//	c, err := kubernetes.NewForConfig(cluster.Config())
//
// What the package promises:
//
//  1. No process outlives this one. A watchdog in its own session waits on a pipe that only this process holds open;
//     whether we stop, panic or are killed, the pipe closes, and it kills every process of the run and deletes the run
//     folder. What a power cut leaves is reaped by the next start.
//  2. Everything listens on loopback only.
//  3. The user's kubeconfig, ~/.kwok and KWOK_ variables are neither read nor written.
//  4. Any number of clusters run at once; each has its own run folder and its own ports.
//  5. Simulated pods end as real ones do: see stages/pod-terminate.yaml. A pod with a finalizer stays until the
//     finalizer's owner lets it go.
//
// The processes of a run are recognised by the path through which they were started: a link in
// the run folder. Starting a process of a run in another way therefore breaks the first
// promise:
//
//	exec.Command(binaries.Etcd, "--data-dir", dir) // wrong: nobody will stop it
//
// Linux and macOS only: it needs /bin/sh, flock and process groups.
package localcluster

import "errors"

var (
	// ErrNoCheckout means that the working directory is not inside a checkout of coapply, so there are no pinned modules to build.
	ErrNoCheckout = errors.New("not inside a checkout of coapply")
	// ErrVersion means that K8S asks for a version of Kubernetes that tools/cluster does not have.
	ErrVersion = errors.New("no such version of Kubernetes here")
	// ErrGoToolchain means that Go is not on the PATH or too old to build the control plane.
	ErrGoToolchain = errors.New("no usable Go toolchain")
	// ErrDiskSpace means that a build, or a cluster, has no room.
	ErrDiskSpace = errors.New("not enough disk space")
	// ErrBuild means that the go command failed; the error carries the last lines it printed.
	ErrBuild = errors.New("building the control plane failed")
	// ErrMissingBinary means that a binary is missing or cannot be executed.
	ErrMissingBinary = errors.New("missing binary")
	// ErrPortTaken means that somebody already listens on the port asked for.
	ErrPortTaken = errors.New("port already taken")
	// ErrStart means that the pieces were started but did not become ready; the error carries the last lines of their logs.
	ErrStart = errors.New("the control plane did not become ready")
)
