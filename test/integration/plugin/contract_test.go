package plugin

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"coapply.dev/apply"
	"coapply.dev/fieldowners/contract"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// TestAuditFindsWhatBreaksAContract: an update of the whole object takes content that the
// contract gives to another; what is advised gives it back.
func TestAuditFindsWhatBreaksAContract(t *testing.T) {
	t.Parallel()
	config := kit.Server(t)
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
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
	shop := kit.NewApplier(t, c, "shop-web", apply.OnConflict(apply.Reject))
	if _, err := shop.Apply(t.Context(), apply.Intent{Config: client.ApplyConfigurationFromUnstructured(devboxOf(namespace, "box"))}); err != nil {
		t.Fatal(err)
	}
	if found := kit.AuditContract(t, config, file, "devboxes", "-n", namespace); len(found.Findings) != 0 {
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
	found := kit.AuditContract(t, config, file, "devboxes", "-n", namespace)
	if len(found.Findings) != 1 || found.Findings[0].Rule != string(contract.RuleWide) || !found.Findings[0].Contract {
		t.Fatalf("%+v", found.Findings)
	}
	finding := found.Findings[0]
	if finding.Manager.Name != "box-operator" || len(finding.Examples) != 1 || !strings.Contains(finding.Examples[0].Message, "that the contract assigns to shop-web") {
		t.Errorf("%+v", finding)
	}

	stdout, stderr, code := kit.OutputOf(t, kit.KubectlCommand(t, config, "fieldowners", "audit", "devboxes", "-n", namespace, "--contract", file))
	advice := regexp.MustCompile(`what to do: kubectl (.*)`).FindStringSubmatch(stdout)
	if code != 1 || advice == nil {
		t.Fatalf("exit code %d:\n%s%s", code, stdout, stderr)
	}
	migrate := kit.KubectlCommand(t, config, strings.Fields(advice[1]+" --yes")...)
	migrate.Dir = t.TempDir() // for what undoes it
	if stdout, stderr, code := kit.OutputOf(t, migrate); code != 0 {
		t.Fatalf("%s: %d %s%s", advice[1], code, stdout, stderr)
	}
	if found := kit.AuditContract(t, config, file, "devboxes", "-n", namespace); len(found.Findings) != 0 {
		t.Errorf("after its remedy: %+v", found.Findings)
	}
}
