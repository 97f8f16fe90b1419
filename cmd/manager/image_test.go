package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

func readRoot(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestImages: Dockerfile and ko make the same program on the same base, of the Go
// version that go.mod asks for, and the Deployment runs it as the image's user.
func TestImages(t *testing.T) {
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readRoot(t, "go.mod"))
	dockerfile := readRoot(t, "Dockerfile")
	var ko struct {
		DefaultBaseImage string   `json:"defaultBaseImage"`
		DefaultPlatforms []string `json:"defaultPlatforms"`
		Builds           []struct {
			ID, Main            string
			Env, Flags, Ldflags []string
		} `json:"builds"`
	}
	if err := yaml.UnmarshalStrict([]byte(readRoot(t, ".ko.yaml")), &ko); err != nil {
		t.Fatal(err)
	}
	if len(ko.Builds) != 1 {
		t.Fatalf("builds of ko: %v", ko.Builds)
	}
	build := ko.Builds[0]
	for _, want := range slices.Concat([]string{
		"FROM --platform=$BUILDPLATFORM golang:" + goVersion[1] + " AS build",
		"FROM " + ko.DefaultBaseImage,
		"-ldflags '" + strings.Join(build.Ldflags, " ") + "'",
		build.Main,
	}, build.Env, build.Flags) {
		if !strings.Contains(dockerfile, want) {
			t.Errorf("the Dockerfile has no %q", want)
		}
	}
	if !strings.HasSuffix(ko.DefaultBaseImage, ":nonroot") {
		t.Errorf("the base image %s may run as root", ko.DefaultBaseImage)
	}
	if flags := build.Flags; !slices.Contains(flags, "-trimpath") || !slices.Contains(build.Env, "CGO_ENABLED=0") {
		t.Errorf("the build depends on where it is made: %v %v", flags, build.Env)
	}
	var deployment appsv1.Deployment
	readConfig(t, "manager/deployment.yaml", &deployment)
	if user := *deployment.Spec.Template.Spec.SecurityContext.RunAsUser; user != 65532 || !strings.Contains(dockerfile, "USER 65532:65532") {
		t.Errorf("the Deployment runs as %d, the image as another user", user)
	}
}

// TestImageContext: what is left out of the build's context is not needed, and the
// module's own packages are in it.
func TestImageContext(t *testing.T) {
	ignored := readRoot(t, ".dockerignore")
	for _, folder := range []string{"platform", "apply", "cmd", "fieldowners", "internal", "go.mod", "go.sum"} {
		if !strings.Contains(ignored, "\n!"+folder+"\n") {
			t.Errorf(".dockerignore leaves %s out", folder)
		}
	}
}
