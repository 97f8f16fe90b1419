package config_test

import (
	"slices"
	"strings"
	"testing"

	"os"
	"path/filepath"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"sigs.k8s.io/yaml"

	"coapply.dev/platform/controllers/fieldmanagers"
)

// kinds are those of config/crd.
func kinds(t *testing.T) []apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob("crd/*_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no CRDs", err)
	}
	all := make([]apiextensionsv1.CustomResourceDefinition, len(files))
	for i, file := range files {
		content, err := os.ReadFile(file)
		if err == nil {
			err = yaml.UnmarshalStrict(content, &all[i])
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return all
}

func rules(t *testing.T) map[string][]rbacv1.PolicyRule {
	t.Helper()
	all := map[string][]rbacv1.PolicyRule{}
	for name, role := range ofKind[rbacv1.ClusterRole](t, "ClusterRole") {
		all[name] = role.Rules
	}
	for name, role := range ofKind[rbacv1.Role](t, "Role") {
		all[name] = role.Rules
	}
	return all
}

func TestLeastPrivilege(t *testing.T) {
	for role, rules := range rules(t) {
		for _, rule := range rules {
			said := slices.Concat(rule.Verbs, rule.APIGroups, rule.Resources, rule.ResourceNames, rule.NonResourceURLs)
			if slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "*") }) {
				t.Errorf("%s has a wildcard: %v", role, rule)
			}
			if slices.Contains(rule.Resources, "secrets") || slices.Contains(rule.Resources, "serviceaccounts/token") {
				t.Errorf("%s reaches Secrets: %v", role, rule)
			}
			for _, grants := range []string{"bind", "escalate", "impersonate"} {
				if slices.Contains(rule.Verbs, grants) && (len(rule.ResourceNames) == 0 || grants != "bind") {
					t.Errorf("%s may %s anything: %v", role, grants, rule)
				}
			}
		}
	}
}

// TestRightsOfTheManager compares what the roles that are bound to the manager's account allow with
// what was reviewed.
func TestRightsOfTheManager(t *testing.T) {
	content, err := os.ReadFile("rights.txt")
	if err != nil {
		t.Fatal(err)
	}
	var reviewed []string
	for line := range strings.Lines(string(content)) {
		right, _, _ := strings.Cut(line, "#")
		if words := strings.Fields(right); len(words) > 0 {
			reviewed = append(reviewed, strings.Join(words, " "))
		}
	}
	slices.Sort(reviewed)
	if diff := cmp.Diff(reviewed, rightsOfTheManager(t)); diff != "" {
		t.Errorf("the rights of the manager (-config/rights.txt +config): write each new one there, with what needs it:\n%s", diff)
	}
}

// rightsOfTheManager lists SCOPE RESOURCE VERBS.
func rightsOfTheManager(t *testing.T) []string {
	t.Helper()
	roles, verbs := rules(t), map[string][]string{}
	add := func(scope string, role rbacv1.RoleRef, subjects []rbacv1.Subject) {
		if !slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return s.Name == "coapply-manager" || s.Kind == "Group" }) {
			return
		}
		if roles[role.Name] == nil {
			t.Errorf("%s is bound to the manager, and is not in config/", role.Name)
		}
		for _, rule := range roles[role.Name] {
			for _, resource := range resourcesOf(rule) {
				verbs[scope+" "+resource] = append(verbs[scope+" "+resource], rule.Verbs...)
			}
		}
	}
	for _, binding := range ofKind[rbacv1.ClusterRoleBinding](t, "ClusterRoleBinding") {
		add("cluster", binding.RoleRef, binding.Subjects)
	}
	for _, binding := range ofKind[rbacv1.RoleBinding](t, "RoleBinding") {
		add(binding.Namespace, binding.RoleRef, binding.Subjects)
	}
	var rights []string
	for right, may := range verbs {
		slices.Sort(may)
		rights = append(rights, right+" "+strings.Join(slices.Compact(may), " "))
	}
	slices.Sort(rights)
	return rights
}

// resourcesOf lists RESOURCE.GROUP, with the names that a rule is narrowed to, and URLs.
func resourcesOf(rule rbacv1.PolicyRule) []string {
	resources := slices.Clone(rule.NonResourceURLs)
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			if group != "" {
				resource += "." + group
			}
			if len(rule.ResourceNames) > 0 {
				resource += "[" + strings.Join(rule.ResourceNames, ",") + "]"
			}
			resources = append(resources, resource)
		}
	}
	return resources
}

// TestTheManagerMayWriteWhatIsClaimed holds the markers in platform/controllers to the
// contract.
func TestTheManagerMayWriteWhatIsClaimed(t *testing.T) {
	allowed := map[string]bool{}
	for _, rule := range rules(t)["coapply-manager"] {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					allowed[verb+" "+resource+"."+group] = true
				}
			}
		}
	}
	for _, claim := range fieldmanagers.All() {
		resource := resourceOf(t, claim.Kind)
		for verb, paths := range map[string][]string{"patch": claim.Applies, "update": claim.Updates} {
			for _, path := range paths {
				name := resource.Resource
				if strings.HasPrefix(path, ".status.") {
					name += "/status"
				}
				if right := verb + " " + name + "." + resource.Group; !allowed[right] {
					t.Errorf("%s claims %s of %s and may not %s: add it to the markers of its reconciler, and make generate", claim.Manager, path, claim.Kind, right)
				}
			}
		}
	}
}

// TestRolesOfAKind: each has three. Those of a kind without a namespace are not part
// of admin, edit and view, which are given to people for a namespace of theirs.
func TestRolesOfAKind(t *testing.T) {
	roles := ofKind[rbacv1.ClusterRole](t, "ClusterRole")
	for _, kind := range kinds(t) {
		for level, aggregate := range map[string]string{"admin": "admin", "editor": "edit", "viewer": "view"} {
			name := "coapply-" + kind.Spec.Names.Singular + "-" + level
			role, ok := roles[name]
			if !ok {
				t.Errorf("%s has no role %s", kind.Spec.Names.Kind, name)
				continue
			}
			want := kind.Spec.Scope == apiextensionsv1.NamespaceScoped
			if got := role.Labels["rbac.authorization.k8s.io/aggregate-to-"+aggregate] == "true"; got != want || len(role.Labels) > 1 {
				t.Errorf("%s: part of the role %s: %t, want %t", name, aggregate, got, want)
			}
			checkLevel(t, name, level, kind, role.Rules)
		}
	}
}

func checkLevel(t *testing.T, name, level string, kind apiextensionsv1.CustomResourceDefinition, rules []rbacv1.PolicyRule) {
	t.Helper()
	allowed := map[string][]string{}
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			allowed[resource] = append(allowed[resource], rule.Verbs...)
		}
		if !slices.Equal(rule.APIGroups, []string{kind.Spec.Group}) {
			t.Errorf("%s is about %v", name, rule.APIGroups)
		}
	}
	plural := kind.Spec.Names.Plural
	want := map[string]bool{ // may it write?
		plural:             level != "viewer",
		plural + "/status": level == "admin",
	}
	if kind.Spec.Versions[0].Subresources.Scale != nil {
		want[plural+"/scale"] = level != "viewer"
	}
	for resource, writes := range want {
		if !slices.Contains(allowed[resource], "get") || slices.Contains(allowed[resource], "update") != writes {
			t.Errorf("%s may do %v with %s, want writing: %t", name, allowed[resource], resource, writes)
		}
	}
	if len(allowed) != len(want) {
		t.Errorf("%s is about %v, want %v", name, allowed, want)
	}
}
