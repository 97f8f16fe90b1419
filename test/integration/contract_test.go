package integration

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/fieldowners/contract"
)

// contractAudit is what these tests read of an audit with a contract.
type contractAudit struct {
	Complete bool
	Objects  int
	Findings []struct {
		Rule, Remedy string
		Contract     bool
		Manager      struct{ Name, Operation string }
		Examples     []struct{ Kind, Name, Message string }
	}
	Contract struct {
		Unowned []struct{ Manager, Kind, Operation, Path string }
	}
}

func auditContract(t *testing.T, config *rest.Config, file string, args ...string) contractAudit {
	t.Helper()
	args = append([]string{"fieldowners", "audit", "-o", "json", "--contract", file}, args...)
	stdout, stderr, code := outputOf(t, kubectlCommand(t, config, args...))
	var found contractAudit
	if err := json.Unmarshal([]byte(stdout), &found); err != nil || !found.Complete {
		t.Fatalf("%v: exit code %d, %v\n%s%s", args, code, err, stdout, stderr)
	}
	return found
}

// TestPlatformKeepsItsContract: config/contract.yaml says all that our managers own.
func TestPlatformKeepsItsContract(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "contracted")
	p.createUser()
	p.createLicense(nil)
	p.userIsComplete()
	p.licenseIs(v1alpha1.LicenseActive, p.namespaceName())
	here := *p.platform
	here.namespace = newNamespace(t, p.client)
	here.create(t, "box", func(b *v1alpha1.Devbox) { b.Spec.Network.Type = v1alpha1.NetworkNodePort })
	here.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	here.waitForNetwork(t, v1alpha1.NetworkNodePort)
	here.createNodeSet(t, "nodes", 2)
	here.waitForNodes(t, "nodes")

	file := filepath.Join("..", "..", "config", "contract.yaml")
	objects := 0
	for _, args := range [][]string{
		{"-n", here.namespace}, {"-n", p.namespaceName()},
		{"users,licenses", "--field-selector", "metadata.name=" + p.name},
		{"namespaces", "--field-selector", "metadata.name=" + p.namespaceName()},
	} {
		found := auditContract(t, p.config(), file, args...)
		objects += found.Objects
		for _, f := range found.Findings {
			if f.Contract {
				t.Errorf("%v: %+v", args, f)
			}
		}
		for _, u := range found.Contract.Unowned {
			t.Log("not owned here:", u)
		}
	}
	if objects < 10 {
		t.Errorf("%d objects are too few to show anything", objects)
	}
}

// TestAuditFindsWhatBreaksAContract: an update of the whole object takes content that the
// contract gives to another; what is advised gives it back.
func TestAuditFindsWhatBreaksAContract(t *testing.T) {
	t.Parallel()
	config := cluster(t).Config()
	c := newClient(t, config)
	namespace := newNamespace(t, c)
	kind := schema.GroupKind{Group: v1alpha1.SchemeGroupVersion.Group, Kind: "Devbox"}
	var text bytes.Buffer
	if err := contract.Write(&text, contract.Contract{
		{Manager: "shop-web", Kind: kind, Applies: []string{".spec"}},
		{Manager: "box-operator", Kind: kind, Updates: []string{`.metadata.finalizers[="example.com/box"]`, ".status"}},
	}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "contract.yaml")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	shop := newApplier(t, c, "shop-web", apply.OnConflict(apply.Reject))
	if _, err := shop.Apply(t.Context(), apply.Intent{Config: client.ApplyConfigurationFromUnstructured(devboxOf(namespace, "box"))}); err != nil {
		t.Fatal(err)
	}
	if found := auditContract(t, config, file, "devboxes", "-n", namespace); len(found.Findings) != 0 {
		t.Fatalf("before: %+v", found.Findings)
	}

	var box v1alpha1.Devbox
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "box"}, &box); err != nil {
		t.Fatal(err)
	}
	controllerutil.AddFinalizer(&box, "example.com/box")
	if err := c.Update(t.Context(), &box, client.FieldOwner("box-operator")); err != nil { // the whole object
		t.Fatal(err)
	}
	found := auditContract(t, config, file, "devboxes", "-n", namespace)
	if len(found.Findings) != 1 || found.Findings[0].Rule != string(contract.RuleWide) || !found.Findings[0].Contract {
		t.Fatalf("%+v", found.Findings)
	}
	finding := found.Findings[0]
	if finding.Manager.Name != "box-operator" || len(finding.Examples) != 1 || !strings.Contains(finding.Examples[0].Message, "that the contract gives to shop-web") {
		t.Errorf("%+v", finding)
	}

	stdout, stderr, code := outputOf(t, kubectlCommand(t, config, "fieldowners", "audit", "devboxes", "-n", namespace, "--contract", file))
	advice := regexp.MustCompile(`what to do: kubectl (.*)`).FindStringSubmatch(stdout)
	if code != 1 || advice == nil {
		t.Fatalf("exit code %d:\n%s%s", code, stdout, stderr)
	}
	migrate := kubectlCommand(t, config, strings.Fields(advice[1]+" --yes")...)
	migrate.Dir = t.TempDir() // for what undoes it
	if stdout, stderr, code := outputOf(t, migrate); code != 0 {
		t.Fatalf("%s: %d %s%s", advice[1], code, stdout, stderr)
	}
	if found := auditContract(t, config, file, "devboxes", "-n", namespace); len(found.Findings) != 0 {
		t.Errorf("after its remedy: %+v", found.Findings)
	}
}
