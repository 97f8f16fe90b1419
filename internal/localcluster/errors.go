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
