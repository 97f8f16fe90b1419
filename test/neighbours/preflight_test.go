package neighbours

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit"
)

// release is a chart of one object, one value of which the release and somebody else set.
type release struct {
	apiVersion, kind string
	rest             string             // of the manifest; VALUE stands for the value
	patch            string             // that sets VALUE
	value            func(n int) string // the values that both set, as YAML and JSON
}

func number(n int) string { return strconv.Itoa(n) }
func quoted(n int) string { return `"v` + strconv.Itoa(n) + `"` }
func base64Of(n int) string {
	return `"` + base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(n))) + `"`
}

const (
	podTemplate = `template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "registry.example.com/i:1"}]}}`
	selected    = `selector: {matchLabels: {a: b}}, ` + podTemplate
)

// releases have fields of all shapes: scalars, maps, associative lists, and lists that one manager owns as a whole.
var releases = []release{
	{"apps/v1", "Deployment", `spec: {replicas: VALUE, ` + selected + `}`, `{"spec":{"replicas":VALUE}}`, number},
	{"apps/v1", "Deployment", `spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: VALUE}]}}}`,
		`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":VALUE}]}}}}`, quoted},
	{"apps/v1", "StatefulSet", `spec: {replicas: VALUE, serviceName: s, ` + selected + `}`, `{"spec":{"replicas":VALUE}}`, number},
	{"apps/v1", "DaemonSet", `spec: {minReadySeconds: VALUE, ` + selected + `}`, `{"spec":{"minReadySeconds":VALUE}}`, number},
	{"apps/v1", "ReplicaSet", `spec: {replicas: VALUE, ` + selected + `}`, `{"spec":{"replicas":VALUE}}`, number},
	{"batch/v1", "CronJob", `spec: {schedule: "0 0 1 1 *", successfulJobsHistoryLimit: VALUE, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}`,
		`{"spec":{"successfulJobsHistoryLimit":VALUE}}`, number},
	{"v1", "ConfigMap", `data: {k: VALUE}`, `{"data":{"k":VALUE}}`, quoted},
	{"v1", "Secret", `data: {k: VALUE}`, `{"data":{"k":VALUE}}`, base64Of},
	{"v1", "Service", `spec: {selector: {a: VALUE}, ports: [{name: http, port: 80}]}`, `{"spec":{"selector":{"a":VALUE}}}`, quoted},
	{"v1", "Service", `metadata: {annotations: {example.com/v: VALUE}, name: NAME}
spec: {ports: [{name: http, port: 80}]}`, `{"metadata":{"annotations":{"example.com/v":VALUE}}}`, quoted},
	{"v1", "ServiceAccount", `imagePullSecrets: [{name: VALUE}]`, `{"imagePullSecrets":[{"name":VALUE}]}`, quoted},
	{"v1", "ResourceQuota", `spec: {hard: {pods: VALUE}}`, `{"spec":{"hard":{"pods":VALUE}}}`, func(n int) string { return `"` + number(n) + `"` }},
	{"v1", "LimitRange", `spec: {limits: [{type: Container, max: {cpu: VALUE}}]}`, `{"spec":{"limits":[{"type":"Container","max":{"cpu":VALUE}}]}}`,
		func(n int) string { return `"` + number(n) + `"` }},
	{"networking.k8s.io/v1", "Ingress", `spec: {ingressClassName: VALUE, defaultBackend: {service: {name: s, port: {number: 80}}}}`, `{"spec":{"ingressClassName":VALUE}}`, quoted},
	{"networking.k8s.io/v1", "NetworkPolicy", `spec: {podSelector: {}, ingress: [{ports: [{port: VALUE}]}]}`, `{"spec":{"ingress":[{"ports":[{"port":VALUE,"protocol":"TCP"}]}]}}`, number},
	{"policy/v1", "PodDisruptionBudget", `spec: {maxUnavailable: VALUE, selector: {matchLabels: {a: b}}}`, `{"spec":{"maxUnavailable":VALUE}}`, number},
	{"autoscaling/v2", "HorizontalPodAutoscaler", `spec: {maxReplicas: VALUE, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}}`, `{"spec":{"maxReplicas":VALUE}}`, number},
	{"rbac.authorization.k8s.io/v1", "Role", `rules: [{apiGroups: [""], resources: [pods], resourceNames: [VALUE], verbs: [get]}]`,
		`{"rules":[{"apiGroups":[""],"resources":["pods"],"resourceNames":[VALUE],"verbs":["get"]}]}`, quoted},
	{"rbac.authorization.k8s.io/v1", "RoleBinding", `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: VALUE}]`,
		`{"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":VALUE}]}`, quoted},
	{"coordination.k8s.io/v1", "Lease", `spec: {holderIdentity: VALUE}`, `{"spec":{"holderIdentity":VALUE}}`, quoted},
}

// others are what somebody else did between two releases, which set 1 and 2.
var others = []struct {
	title string
	do    func(w *world, object client.Object, release release) error
}{
	{"an update to another value", func(w *world, object client.Object, r release) error { return r.update(w, object, 3) }},
	{"an update to the value of the next release", func(w *world, object client.Object, r release) error { return r.update(w, object, 2) }},
	{"a forced apply", func(w *world, object client.Object, r release) error {
		return w.Client.Patch(w.t.Context(), object, client.RawPatch(types.ApplyYAMLPatchType, []byte(r.manifest(3))),
			client.FieldOwner("team"), client.ForceOwnership)
	}},
}

func (r release) manifest(n int) string {
	text := "apiVersion: " + r.apiVersion + "\nkind: " + r.kind + "\n"
	if !strings.HasPrefix(r.rest, "metadata:") {
		text += "metadata: {name: NAME}\n"
	}
	return strings.NewReplacer("NAME", "web", "VALUE", r.value(n)).Replace(text+r.rest) + "\n"
}

func (r release) update(w *world, object client.Object, n int) error {
	kind := types.MergePatchType
	if strings.HasPrefix(r.apiVersion, "apps/") {
		kind = types.StrategicMergePatchType // leaves the other fields of a container alone
	}
	return w.Client.Patch(w.t.Context(), object, client.RawPatch(kind, []byte(strings.ReplaceAll(r.patch, "VALUE", r.value(n)))), client.FieldOwner("oncall"))
}

// foretold is what check -o json says of one object.
type foretold struct {
	Conflicts []struct {
		Path, ServerPath string
		Owner            struct{ Name string }
	}
	Dropped []struct{ Path string }
}

// TestCheckForetellsHelm compares, for 60 upgrades, what kubectl fieldowners check says of the output of helm template with
// what helm upgrade then does: whether it conflicts, on which fields and with whom, and, forced, who loses which fields.
func TestCheckForetellsHelm(t *testing.T) {
	t.Parallel()
	needsAll(t, "Helm")
	if n := len(releases) * len(others); n < 50 {
		t.Fatalf("%d upgrades, want 50 at least", n)
	}
	for i, r := range releases {
		for _, other := range others {
			t.Run(r.kind+" "+number(i)+"/"+other.title, func(t *testing.T) {
				t.Parallel()
				p := kit.NewPlatform(t)
				w := &world{t: t, Platform: p, kubeconfig: kit.Kubeconfig(t, p.Config())}
				foretellHelm(w, r, other.do)
			})
		}
	}
}

var conflicts = regexp.MustCompile(`failed with (\d+) conflict`)

func foretellHelm(w *world, r release, other func(*world, client.Object, release) error) {
	w.t.Helper()
	t := w.t
	chart := chart(t, "web", strings.ReplaceAll(r.manifest(0), r.value(0), "{{ .Values.value }}"))
	file := filepath.Join(chart, "values.yaml")
	values := func(n int) {
		if err := os.WriteFile(file, []byte("value: '"+r.value(n)+"'\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	values(1)
	w.must(w.helm("install", "web", chart))
	object := kit.NewUnstructured(r.apiVersion, r.kind, client.ObjectKey{Namespace: w.Namespace, Name: "web"})
	if err := other(w, object.DeepCopy(), r); err != nil {
		t.Fatal(err)
	}
	values(2)
	manifest, err := w.helm("template", "web", chart).Output()
	if err != nil {
		t.Fatal(err)
	}
	check := kit.KubectlCommand(t, w.Config(), "fieldowners", "check", "-f", "-", "--field-manager", "helm", "-o", "json", "-n", w.Namespace)
	check.Stdin = bytes.NewReader(manifest)
	stdout, stderr, code := kit.OutputOf(t, check)
	var list struct{ Items []foretold }
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("check: exit code %d, %v\n%s%s", code, err, stdout, stderr)
	}
	says := list.Items[0]

	before := w.owners(object)
	out, err := w.helm("upgrade", "web", chart).CombinedOutput()
	if failed := err != nil; failed != (len(says.Conflicts) > 0) {
		t.Fatalf("%d conflicts foretold, and helm upgrade says: %v\n%s", len(says.Conflicts), err, out)
	}
	var lost []string
	if err != nil {
		if found := conflicts.FindSubmatch(out); found == nil || string(found[1]) != number(len(says.Conflicts)) {
			t.Errorf("%d conflicts foretold, and helm upgrade says:\n%s", len(says.Conflicts), out)
		}
		for _, c := range says.Conflicts {
			if !strings.Contains(string(out), c.ServerPath) || !strings.Contains(string(out), strconv.Quote(c.Owner.Name)) {
				t.Errorf("foretold %s of %s, and helm upgrade says:\n%s", c.ServerPath, c.Owner.Name, out)
			}
			lost = append(lost, c.Path+" "+c.Owner.Name)
		}
		w.must(w.helm("upgrade", "web", chart, "--force-conflicts"))
	}
	for _, d := range says.Dropped {
		lost = append(lost, d.Path+" helm")
	}
	var really []string
	for _, line := range changes(before, w.owners(object)) {
		if rest, gone := strings.CutPrefix(line, "- "); gone {
			really = append(really, ownerLine(rest))
		}
	}
	slices.Sort(lost)
	slices.Sort(really)
	if diff := cmp.Diff(lost, really); diff != "" {
		t.Errorf("who loses which field (-foretold +really):\n%s", diff)
	}
}

// ownerLine turns a line of owners, PATH MANAGER/OPERATION, into PATH MANAGER.
func ownerLine(line string) string {
	end := strings.LastIndex(line, " ")
	manager, _, _ := strings.Cut(line[end+1:], "/")
	return line[:end] + " " + manager
}
