package localcluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// assetsVariable is the environment variable that names a folder with prebuilt binaries. envtest and
// its setup tool use the same variable.
const assetsVariable = "KUBEBUILDER_ASSETS"

// Binaries are the paths of the executables of the control plane, and of kubectl and kwok.
type Binaries struct {
	Etcd                  string
	KubeAPIServer         string
	KubeControllerManager string
	KubeScheduler         string
	Kubectl               string
	Kwok                  string
	Kwokctl               string
}

// binariesIn returns the paths of all binaries in one folder, under their usual names.
func binariesIn(dir string) Binaries {
	return Binaries{
		Etcd:                  filepath.Join(dir, "etcd"),
		KubeAPIServer:         filepath.Join(dir, "kube-apiserver"),
		KubeControllerManager: filepath.Join(dir, "kube-controller-manager"),
		KubeScheduler:         filepath.Join(dir, "kube-scheduler"),
		Kubectl:               filepath.Join(dir, "kubectl"),
		Kwok:                  filepath.Join(dir, "kwok"),
		Kwokctl:               filepath.Join(dir, "kwokctl"),
	}
}

// withAssets returns a copy of b with the paths of etcd, kube-apiserver and kubectl in the given folder. If the
// folder is "", withAssets returns b unchanged.
func (b Binaries) withAssets(dir string) Binaries {
	if dir == "" {
		return b
	}
	assets := binariesIn(dir)
	b.Etcd, b.KubeAPIServer, b.Kubectl = assets.Etcd, assets.KubeAPIServer, assets.Kubectl
	return b
}

func (b Binaries) all() []string {
	return append(b.apiServer(), b.KubeControllerManager, b.KubeScheduler, b.Kwok, b.Kwokctl)
}

// apiServer returns the paths of the binaries that StartAPIServer needs. If KUBEBUILDER_ASSETS names a folder, the
// folder must contain these binaries.
func (b Binaries) apiServer() []string {
	return []string{b.Etcd, b.KubeAPIServer, b.Kubectl}
}

// checkExecutable returns an error for the first path that is not an executable file. remedy describes what the user
// can do; it becomes the end of the error message.
func checkExecutable(paths []string, remedy string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("%w: %s does not exist; %s", ErrMissingBinary, path, remedy)
		case err != nil:
			return fmt.Errorf("%w: %w; %s", ErrMissingBinary, err, remedy)
		case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 || info.Size() == 0:
			return fmt.Errorf("%w: %s is not an executable file; %s", ErrMissingBinary, path, remedy)
		}
	}
	return nil
}

func checkAssets(dir string) error {
	return checkExecutable(binariesIn(dir).apiServer(),
		assetsVariable+" names this folder: put the binary into the folder, or unset the variable to build the binary")
}
