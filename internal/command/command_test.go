package command_test

import (
	"fmt"
	"strings"
	"testing"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/command"
)

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"":               "''",
		"shop-web":       "shop-web",
		"deployment/web": "deployment/web",
		".spec.replicas": ".spec.replicas",
		"a b":            "'a b'",
		"=x":             "'=x'", // a path of a program, to zsh
		"~":              "'~'",
		"; rm -rf /":     "'; rm -rf /'",
		"it's":           `'it'\''s'`,
		"a\nb":           "'a\nb'",
		`.a["b"]`:        `'.a["b"]'`,
		"\u202e":         "'\u202e'",
	} {
		if got := command.Quote(word); got != want {
			t.Errorf("%q is %s, want %s", word, got, want)
		}
	}
}

func TestTarget(t *testing.T) {
	for subject, want := range map[command.Subject]string{
		{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}: "deployment.apps/web --namespace shop",
		{Kind: "Namespace", Name: "shop"}:                                   "namespace/shop",
		{Kind: "ConfigMap", Name: "x; rm -rf ~", Namespace: "a b"}:          "'configmap/x; rm -rf ~' --namespace 'a b'",
		{Kind: "Deployment"}: command.Placeholder,
		{Name: "web"}:        command.Placeholder,
	} {
		if got := subject.Target(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestEndSharingOfAnUpdate(t *testing.T) {
	got := command.EndSharing(fieldowners.Manager{Name: "shop-web", Operation: "Apply"}, fieldowners.Manager{Name: "kubectl", Operation: "Update"}, nil)
	if want := "kubectl fieldowners migrate TYPE/NAME --from kubectl --to shop-web"; got != want { // migrate takes Update's without a flag
		t.Errorf("%s, want %s", got, want)
	}
}

func ExampleEndSharing() {
	by := fieldowners.Manager{Name: "shop-web", Operation: "Apply"}
	with := fieldowners.Manager{Name: "hpa", Operation: "Apply"}
	paths := []fieldowners.Path{fieldowners.MustParsePath(`.metadata.labels["a.b/c"]`)}
	web := command.Subject{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	fmt.Println(strings.Replace(command.EndSharing(by, with, paths), command.Placeholder, web.Target(), 1))
	// Output: kubectl fieldowners migrate deployment.apps/web --namespace shop --from hpa --to shop-web --path '.metadata.labels["a.b/c"]' --operation Apply
}
