package plugin

import (
	"strings"
	"testing"

	"coapply.dev/test/kit"
)

// TestCheckOfWhatIsNotThere: a namespace that there is not is refused, as the server does, without the right to write; what
// only the server can tell of a new object is said.
func TestCheckOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	allowReading(t, c, namespace, "creator")
	const warned = "warning: required fields, names and values are not checked: --dry-run=server asks the API server\n"
	nowhere := namespace + "-nowhere"
	in := func(namespace string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: new" + namespace + "}, data: {a: b}}\n"
	}
	for _, test := range []struct {
		reason, content, args, stdout, stderr string
		code                                  int
	}{
		{"a namespace that there is not", in(", namespace: " + nowhere), "",
			"ConfigMap " + nowhere + "/new: refused\n  FILE:1: .metadata.namespace: there is no namespace \"" + nowhere + "\"\n", "error: the API server would refuse", 2},
		{"of the command line", in(""), "-n " + nowhere, "ConfigMap " + nowhere + "/new: refused\n", "error: ", 2},
		{"which the files make", strings.Replace(in(", namespace: "+nowhere), ", data: {a: b}", "", 1) + "---\n{apiVersion: v1, kind: Namespace, metadata: {name: " + nowhere + "}}\n", "",
			"ConfigMap " + nowhere + "/new: no conflict, it would be created\nNamespace " + nowhere + ": no conflict, it would be created\n", warned, 0},
		{"one that there is", in(""), "-n " + namespace, "ConfigMap " + namespace + "/new: no conflict, it would be created\n", warned, 0},
		{"one that may not be read", in(""), "-n " + namespace + " --as creator", "ConfigMap " + namespace + "/new: no conflict, it would be created\n", warned, 0},
		{"a kind that there is not", `{apiVersion: apps/v1, kind: Deploymnt, metadata: {name: web}}`, "",
			"", "FILE, line 1: Deploymnt web: the API server has no kind Deploymnt in apps/v1 (did you mean Deployment in apps/v1?); if its CRD is not installed yet, install it first\n", 2},
		{"a kind of another version", `{apiVersion: v1, kind: Deployment, metadata: {name: web}}`, "",
			"", "the API server has no kind Deployment in v1 (did you mean Deployment in apps/v1?)", 2},
	} {
		file := writtenFile(t, "new.yaml", test.content)
		stdout, stderr, code := plugin(t, append([]string{"check", "-f", file, "--field-manager", "ci"}, strings.Fields(test.args)...)...)
		stdout, stderr = strings.ReplaceAll(stdout, file, "FILE"), strings.ReplaceAll(stderr, file, "FILE")
		if code != test.code || !strings.HasPrefix(stdout, test.stdout) || code == 2 && strings.Contains(stdout, "changes") || !strings.Contains(stderr, test.stderr) {
			t.Errorf("%s: exit code %d\n%s%s", test.reason, code, stdout, stderr)
		}
	}
	for _, wrong := range []string{in(", namespace: " + nowhere), `{apiVersion: apps/v1, kind: Deploymnt, metadata: {name: web}}`} {
		if stdout, stderr, code := plugin(t, "check", "--dry-run=server", "-f", writtenFile(t, "wrong.yaml", wrong), "--field-manager", "ci"); code != 2 {
			t.Errorf("the server takes %s: exit code %d\n%s%s", wrong, code, stdout, stderr)
		}
	}
}
