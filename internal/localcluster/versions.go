package localcluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// versionVariable is the environment variable that selects the version of Kubernetes, such as K8S=1.36.3.
const versionVariable = "K8S"

// source is the source code of one version of the control plane: the program in tools/cluster, with the go.mod file
// for this version.
type source struct {
	dir        string
	modFile    string
	kubernetes string // such as v1.36.3
}

func sourceDir(checkout string) string { return filepath.Join(checkout, "tools", "cluster") }

// chosenSource returns the source of the given Kubernetes version. The version "" means the version in
// tools/cluster/go.mod.
func chosenSource(dir, version string) (source, error) {
	if version == "" {
		return readSource(dir, filepath.Join(dir, "go.mod"))
	}
	sources, err := readSources(dir)
	if err != nil {
		return source{}, err
	}
	for _, s := range sources {
		if s.version() == strings.TrimPrefix(version, "v") {
			return s, nil
		}
	}
	return source{}, fmt.Errorf("%w: %s=%s; choose %s, or unset the variable for the default",
		ErrVersion, versionVariable, version, strings.Join(versionsOf(sources), " or "))
}

// Versions returns the Kubernetes versions in tools/cluster, such as 1.36.3, the oldest first.
func Versions() ([]string, error) {
	root, err := Checkout()
	if err != nil {
		return nil, err
	}
	sources, err := readSources(sourceDir(root))
	return versionsOf(sources), err
}

func versionsOf(sources []source) (versions []string) {
	for _, s := range sources {
		versions = append(versions, s.version())
	}
	return versions
}

// readSources returns the sources of all versions, the oldest first.
func readSources(dir string) ([]source, error) {
	modFiles, err := filepath.Glob(filepath.Join(dir, "*.mod"))
	if err != nil {
		return nil, fmt.Errorf("looking for the go.mod files of the Kubernetes versions: %w", err)
	}
	var sources []source
	for _, modFile := range modFiles {
		s, err := readSource(dir, modFile)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	slices.SortFunc(sources, func(a, b source) int { return strings.Compare(a.kubernetes, b.kubernetes) })
	return sources, nil
}

func (s source) version() string { return strings.TrimPrefix(s.kubernetes, "v") }

func readSource(dir, modFile string) (source, error) {
	kubernetes, err := requiredVersion(modFile, "k8s.io/kubernetes")
	return source{dir: dir, modFile: modFile, kubernetes: kubernetes}, err
}

// requiredVersion returns the version of a module in the require directives of a go.mod file.
func requiredVersion(goMod, module string) (string, error) {
	content, err := os.ReadFile(goMod)
	if err != nil {
		return "", fmt.Errorf("reading the go.mod file of a Kubernetes version: %w", err)
	}
	required := regexp.MustCompile(`(?m)^(?:require)?\s*` + regexp.QuoteMeta(module) + `\s+(v\S+)`).FindSubmatch(content)
	if required != nil {
		return string(required[1]), nil
	}
	return "", fmt.Errorf("%s does not require the module %s", goMod, module)
}

// flags returns the flags of go build and go list for this version of the source.
func (s source) flags() []string {
	return []string{"-modfile=" + filepath.Base(s.modFile), compileFlags, s.linkFlags()}
}

func (s source) linkFlags() string { return "-ldflags=-s" + versionFlags(s.kubernetes) }

// name returns the name of the build folder. The name contains a hash of all inputs of the build, so two checkouts
// share a build folder if and only if they would build the same binaries.
func (s source) name() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH, buildEnv, compileFlags, s.linkFlags())
	for _, file := range []string{s.modFile, strings.TrimSuffix(s.modFile, ".mod") + ".sum", filepath.Join(s.dir, "main.go")} {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("reading the sources of the control plane: %w", err)
		}
		sum.Write(content)
	}
	return s.kubernetes + "-" + hex.EncodeToString(sum.Sum(nil))[:10], nil
}
