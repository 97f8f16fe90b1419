package platform

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// size of the platform in TestScale.
type size struct {
	nodes, users, boxesPerUser, pods int
	// rest is how long nothing may be written in the end.
	rest time.Duration
	// patience is how long it may take until everything stands.
	patience time.Duration
}

// sizeOfScale is small unless COAPPLY_SCALE=full asks for what docs/scale.md
// publishes.
func sizeOfScale(t *testing.T) size {
	switch given := os.Getenv("COAPPLY_SCALE"); given {
	case "":
		return size{nodes: 10, users: 8, boxesPerUser: 3, pods: 25, rest: 5 * time.Second, patience: 2 * time.Minute}
	case "full":
		return size{nodes: 100, users: 200, boxesPerUser: 5, pods: 500, rest: time.Minute, patience: 20 * time.Minute}
	default:
		t.Fatalf("COAPPLY_SCALE=%q: full or nothing", given)
		return size{}
	}
}

// TestScale has a whole platform come up at once: Users with Licenses, Devboxes in
// their Namespaces and a NodeSet. Nobody gives up, no field is lost, no event warns of
// what is not, and then nothing is written any more.
func TestScale(t *testing.T) {
	kit.ForSoak(t)
	t.Parallel()
	of := sizeOfScale(t)
	c, err := kit.StartCluster(t.Context(), "scale", of.nodes)
	if err != nil {
		t.Fatal(err)
	}
	p := &kit.Platform{Client: kit.NewClient(t, c.Config())}
	stop := p.Run(t, c.Config(), apply.Force)

	start := time.Now()
	populate(t, p, of)
	created := time.Since(start)
	untilAllStands(t, p, of)
	stood := time.Since(start)
	sent := p.Quiet(t, 5*time.Second)
	t.Logf("created in %v, stands after %v, at rest after %v", created.Round(time.Second), stood.Round(time.Second),
		(time.Since(start) - 5*time.Second).Round(time.Second))
	t.Logf("%d write requests: %v", len(sent), byVerb(sent))
	logMemory(t)

	wantNoGiveUp(t, p)
	wantNoWarning(t, p)
	wantEveryField(t, p, of)
	before := p.Versions(t)
	kit.Absence(t, of.rest, "writes to what stands")
	after := p.Versions(t)
	t.Logf("%d objects watched for %v", len(after), of.rest)
	for name, version := range before {
		if after[name] != version {
			t.Errorf("%s went from resourceVersion %s to %s at rest", name, version, after[name])
		}
	}
	if late := p.Writes.Take(); len(late) > 0 || len(after) != len(before) {
		t.Errorf("at rest %d objects became %d, and %d writes were sent: %v", len(before), len(after), len(late), late[:min(len(late), 5)])
	}
	wantSilentRestart(t, p, of, c.Config(), stop)
}

// logMemory logs what the manager holds, and this test with it.
func logMemory(t *testing.T) {
	t.Helper()
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	t.Logf("heap %d MiB, %d goroutines", memory.HeapAlloc>>20, runtime.NumGoroutine())
}

const scaleNamespace = "default"

func userName(i int) string { return fmt.Sprintf("user-%03d", i) }

// populate creates everything, the Devboxes as soon as their Namespaces are there.
func populate(t *testing.T, p *kit.Platform, of size) {
	t.Helper()
	create := func(object client.Object) {
		t.Helper()
		if err := p.Client.Create(t.Context(), object, client.FieldOwner("person")); err != nil {
			t.Fatal(err)
		}
	}
	set := &v1alpha1.NodeSet{Spec: v1alpha1.NodeSetSpec{Image: "registry.example.com/slurmd:1", Replicas: new(int32(of.pods))}}
	set.Name, set.Namespace = "compute", scaleNamespace
	create(set)
	for i := range of.users {
		create(&v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: userName(i)}})
		license := &v1alpha1.License{ObjectMeta: metav1.ObjectMeta{Name: userName(i)}}
		license.Spec.Limits = corev1.ResourceList{"pods": kit.Quantity(fmt.Sprint(3 * of.boxesPerUser)), "requests.cpu": kit.Quantity("100")}
		create(license)
	}
	for i := range of.users {
		namespace := "user-" + userName(i)
		kit.WaitFor(t, namespace, func() string {
			if err := p.Client.Get(t.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{}); err != nil {
				return err.Error()
			}
			return ""
		})
		for j := range of.boxesPerUser {
			box := &v1alpha1.Devbox{Spec: v1alpha1.DevboxSpec{Image: "registry.example.com/dev:1"}}
			box.Name, box.Namespace = kit.BoxName(j), namespace
			box.Spec.Resources.Requests = corev1.ResourceList{"cpu": kit.Quantity("100m")}
			create(box)
		}
	}
}

// untilAllStands waits for what the objects say of themselves.
func untilAllStands(t *testing.T, p *kit.Platform, of size) {
	t.Helper()
	deadline := time.Now().Add(of.patience)
	for {
		missing := missing(t, p, of)
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %s", of.patience, missing)
		}
		time.Sleep(time.Second)
	}
}

func missing(t *testing.T, p *kit.Platform, of size) string {
	t.Helper()
	var set v1alpha1.NodeSet
	if err := p.Client.Get(t.Context(), client.ObjectKey{Namespace: scaleNamespace, Name: "compute"}, &set); err != nil {
		t.Fatal(err)
	}
	if set.Status.ReadyReplicas != int32(of.pods) {
		return fmt.Sprintf("%d of %d pods are ready", set.Status.ReadyReplicas, of.pods)
	}
	var boxes v1alpha1.DevboxList
	var licenses v1alpha1.LicenseList
	var users v1alpha1.UserList
	p.List(t, &boxes)
	p.List(t, &licenses)
	p.List(t, &users)
	running := 0
	for i := range boxes.Items {
		if box := &boxes.Items[i]; box.Status.Phase == v1alpha1.PhaseRunning && kit.UnlessApplied(box) == "" {
			running++
		}
	}
	applied := 0
	for i := range users.Items {
		if meta.IsStatusConditionTrue(users.Items[i].Status.Conditions, v1alpha1.ConditionApplied) {
			applied++
		}
	}
	for i := range licenses.Items {
		status := licenses.Items[i].Status
		if status.Phase == v1alpha1.LicenseActive && meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionApplied) {
			applied++
		}
	}
	if running != of.users*of.boxesPerUser || applied != 2*of.users {
		return fmt.Sprintf("%d of %d Devboxes run, %d of %d Users and Licenses stand", running, of.users*of.boxesPerUser, applied, 2*of.users)
	}
	return ""
}

func byVerb(sent []string) map[string]int {
	verbs := map[string]int{}
	for _, request := range sent {
		verb, path, _ := strings.Cut(request, " ")
		kind := "others"
		for _, known := range []string{
			"devboxes", "users", "licenses", "nodesets", "deployments", "services", "serviceaccounts", "rolebindings",
			"resourcequotas", "pods", "events",
		} {
			if strings.Contains(path, "/"+known+"/") || strings.HasSuffix(path, "/"+known) {
				kind = known
			}
		}
		if kind == "others" && strings.Contains(path, "/namespaces/") {
			kind = "namespaces"
		}
		if strings.HasSuffix(path, "/status") {
			kind += "/status"
		}
		verbs[verb+" "+kind]++
	}
	return verbs
}

// wantNoGiveUp goes through what the writers observed.
func wantNoGiveUp(t *testing.T, p *kit.Platform) {
	t.Helper()
	results := map[string]int{}
	for _, o := range p.Applies.Take() {
		results["apply "+o.Result]++
	}
	attempts, stale := 0, 0
	for _, o := range p.Applies.TakeUpdates() {
		results["update "+o.Result]++
		attempts += o.Attempts
		stale += o.StaleWrites
	}
	t.Logf("%d attempts to update, %d of them stale writes, each retried; %v", attempts, stale, results)
	for result, n := range results {
		if !slices.Contains([]string{"apply Created", "apply Configured", "apply Unchanged", "apply Absent", "update Success"}, result) {
			t.Errorf("%d times %s", n, result)
		}
	}
}

// wantNoWarning: everything went well, so that none can be true. Those of others are
// shown.
func wantNoWarning(t *testing.T, p *kit.Platform) {
	t.Helper()
	var events eventsv1.EventList
	p.List(t, &events)
	others := map[string]int{}
	for i := range events.Items {
		e := &events.Items[i]
		switch {
		case e.Type != corev1.EventTypeWarning:
		case strings.HasPrefix(e.ReportingController, "coapply-"):
			t.Errorf("%s on %s %s: %s: %s", e.ReportingController, e.Regarding.Kind, e.Regarding.Name, e.Reason, e.Note)
		default:
			others[e.ReportingController+" "+e.Reason]++
		}
	}
	t.Logf("warnings of others: %v", others)
}

// wantEveryField asks who owns what on each object that several managers share, and
// whether it has the value that it should.
func wantEveryField(t *testing.T, p *kit.Platform, of size) {
	t.Helper()
	deployments := &unstructuredList{kind: "DeploymentList", version: "apps/v1"}
	checked := wantOwners(t, p, deployments, map[string]soleOwner{
		".spec.replicas": {"coapply-devbox-power", int64(1)},
		`.spec.template.spec.containers[name="devbox"].image`: {"coapply-devbox-workload", "registry.example.com/dev:1"},
	})
	if checked != of.users*of.boxesPerUser {
		t.Errorf("%d Deployments, want %d", checked, of.users*of.boxesPerUser)
	}
	namespaces := &unstructuredList{kind: "NamespaceList", version: "v1", label: "platform.coapply.dev/owner"}
	checked = wantOwners(t, p, namespaces, map[string]soleOwner{
		`.metadata.labels["platform.coapply.dev/owner"]`:   {"coapply-user", nil},
		`.metadata.labels["platform.coapply.dev/license"]`: {"coapply-license", "Active"},
	})
	if checked != of.users {
		t.Errorf("%d Namespaces of Users, want %d", checked, of.users)
	}
	checked = wantOwners(t, p, &unstructuredList{kind: "ResourceQuotaList", version: "v1"}, map[string]soleOwner{
		`.spec.hard["requests.cpu"]`: {"coapply-license", "100"},
	})
	if checked != of.users {
		t.Errorf("%d ResourceQuotas, want %d", checked, of.users)
	}
}
