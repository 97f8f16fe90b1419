// Package admission generates ValidatingAdmissionPolicies that enforce a contract in a cluster.
//
// Names of field managers are not authenticated, so a contract alone is a statement of intent. The generated policies
// tie the names to a right: the RBAC verb use of the virtual resource fieldmanagers, whose resource names are the
// names of the field managers. No object of this resource exists.
//
//   - NAME-field-manager-names denies requests with a field manager of the contract by users without the right.
//   - NAME-managed-fields denies requests without the right that add fields to the managed fields of a manager of the
//     contract, or that remove fields of an apply without changing a value. The first two levels of the fields are
//     compared. A forged loss of ownership is not detected if the request also changes values below the same
//     top-level field: whoever may change these values could have taken the fields by that.
//   - NAME-fields-RESOURCE, one policy for each kind (Settings.Fields), denies requests after which another field manager
//     owns a field that the contract assigns exclusively, or after which the field is gone although its owner applied it.
//     An object is protected if a field manager of the contract owns one of its fields, or a selector of the contract
//     matches the object. What another manager owned before stays allowed.
//
// Requests to /scale have no managed fields and no labels, so NAME-fields-RESOURCE cannot judge them.
package admission

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/contract"
)

// Settings say how a contract is enforced.
type Settings struct {
	Name            string                 // the prefix of the names of the policies and of the ClusterRole
	Group           string                 // the API group of the virtual resource fieldmanagers
	Prefix          string                 // if not empty, all names with this prefix are reserved, not only those of the contract
	ServiceAccounts []types.NamespacedName // who gets the right to all names
	Fields          bool                   // whether other managers are denied the fields of the contract
}

// Write writes the policies, their bindings, the ClusterRole and the ClusterRoleBinding as YAML. resources are the
// plural names of the kinds of the contract. The contract must be one that contract.Check accepts.
func Write(w io.Writer, c contract.Contract, resources map[schema.GroupKind]string, s Settings) error {
	objects := []any{
		policy(s.Name+"-field-manager-names", rules(c, resources), s.names(c)),
		policy(s.Name+"-managed-fields", rules(c, resources), s.entries(c)),
	}
	if s.Fields {
		for _, kind := range kindsOf(c) {
			spec, err := s.fields(c, kind)
			if err != nil {
				return err
			}
			if len(spec.Validations) == 0 {
				continue
			}
			resource := schema.GroupResource{Group: kind.Group, Resource: resources[kind]}
			of := slices.DeleteFunc(slices.Clone(c), func(claim contract.Claim) bool { return claim.Kind != kind })
			objects = append(objects, policy(s.Name+"-fields-"+resource.String(), rules(of, resources), spec))
		}
	}
	for _, p := range slices.Clone(objects) {
		objects = append(objects, binding(p.(*admissionv1.ValidatingAdmissionPolicy).Name)) //nolint:forcetypeassert // only policies so far
	}
	for _, object := range append(objects, s.rights()...) {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return err
		}
		delete(content, "status")
		text, err := yaml.Marshal(content)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}

// rights returns the ClusterRole with the right to use all names, and its binding to the service accounts.
func (s Settings) rights() []any {
	role := &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: s.role()},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{s.Group}, Resources: []string{"fieldmanagers"}, Verbs: []string{"use"}}},
	}
	if len(s.ServiceAccounts) == 0 {
		return []any{role}
	}
	bound := &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: role.ObjectMeta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: role.Name},
	}
	for _, account := range s.ServiceAccounts {
		bound.Subjects = append(bound.Subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name})
	}
	return []any{role, bound}
}

func (s Settings) role() string { return s.Name + "-field-managers" }

func policy(name string, rules []admissionv1.NamedRuleWithOperations, spec admissionv1.ValidatingAdmissionPolicySpec) *admissionv1.ValidatingAdmissionPolicy {
	spec.FailurePolicy = new(admissionv1.Fail)
	spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: rules}
	return &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       spec,
	}
}

func binding(policy string) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: policy},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}

// rules returns a rule for each API group of the contract. The rule names the group's resources and all subresources.
func rules(c contract.Contract, resources map[schema.GroupKind]string) (rules []admissionv1.NamedRuleWithOperations) {
	byGroup := map[string][]string{}
	for _, kind := range kindsOf(c) {
		byGroup[kind.Group] = append(byGroup[kind.Group], resources[kind], resources[kind]+"/*")
	}
	for _, group := range slices.Sorted(maps.Keys(byGroup)) {
		rules = append(rules, admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: slices.Sorted(slices.Values(byGroup[group]))},
		}})
	}
	return rules
}

func kindsOf(c contract.Contract) (kinds []schema.GroupKind) {
	for _, claim := range c {
		kinds = append(kinds, claim.Kind)
	}
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(kinds)
}

// names returns the policy for requests that name a field manager of the contract.
func (s Settings) names(c contract.Contract) admissionv1.ValidatingAdmissionPolicySpec {
	return admissionv1.ValidatingAdmissionPolicySpec{
		MatchConditions: []admissionv1.MatchCondition{{
			Name: "reserved-name",
			Expression: "has(request.options) && has(request.options.fieldManager)\n&& " +
				s.isReserved(c, "request.options.fieldManager"),
		}},
		Validations: []admissionv1.Validation{{
			Expression: s.mayUse("request.options.fieldManager"), Reason: new(metav1.StatusReasonForbidden),
			MessageExpression: `"the field manager " + request.options.fieldManager + " is reserved: use another name, or` + s.askFor(),
		}},
	}
}

// entries returns the policy for requests that send managed fields.
func (s Settings) entries(c contract.Contract) admissionv1.ValidatingAdmissionPolicySpec {
	reserved := s.isReserved(c, `e.?manager.orValue("")`)
	of := func(object string) string { return object + ".?metadata.managedFields.orValue([])" }
	const same = `a.manager == b.manager && a.operation == b.operation && a.apiVersion == b.apiVersion
&& a.?subresource.orValue("") == b.?subresource.orValue("")`
	return admissionv1.ValidatingAdmissionPolicySpec{
		MatchConditions: []admissionv1.MatchCondition{{
			Name: "reserved-entries",
			Expression: of("object") + ".exists(e, " + reserved + ")\n|| (oldObject != null && " +
				of("oldObject") + ".exists(e, " + reserved + "))",
		}},
		Variables: []admissionv1.Variable{
			{Name: "before", Expression: "oldObject == null ? [] : " + of("oldObject") + ".filter(e, " + reserved + ")"},
			{Name: "after", Expression: of("object") + ".filter(e, " + reserved + ")"},
			{Name: "metadataChanged", Expression: `oldObject != null && ["labels", "annotations", "ownerReferences", "finalizers"].exists(f,
object.metadata[?f] != oldObject.metadata[?f])`},
		},
		Validations: []admissionv1.Validation{
			{
				// A manager with more fields than it applied would delete them with its next apply.
				Expression: "variables.after.all(a, variables.before.exists(b, " + same + `
&& a.fieldsV1.all(k, k in b.fieldsV1 && a.fieldsV1[k].all(l, l in b.fieldsV1[k])))
|| ` + s.mayUse("a.manager") + ")",
				Reason:            new(metav1.StatusReasonForbidden),
				MessageExpression: `"this request would make a reserved field manager own more fields than before: write under another field manager (set --field-manager or the User-Agent), or` + s.askFor(),
			},
			{
				// Entries by Update are left out: the API server itself merges old ones.
				Expression: `variables.before.all(b, b.operation != "Apply" || b.fieldsV1.all(k,
variables.after.exists(a, ` + same + ` && a.fieldsV1[?k] == b.fieldsV1[?k])
|| (k == "f:metadata" ? variables.metadataChanged : object[?k.substring(2)] != oldObject[?k.substring(2)]))
|| ` + s.mayUse("b.manager") + ")",
				Reason:            new(metav1.StatusReasonForbidden),
				MessageExpression: `"this request would remove fields from the managedFields entry of a reserved field manager, without changing a value: send no managedFields, or` + s.askFor(),
			},
		},
	}
}

// fields returns the policy for the fields that the contract assigns to the managers of a kind.
func (s Settings) fields(c contract.Contract, kind schema.GroupKind) (admissionv1.ValidatingAdmissionPolicySpec, error) {
	var managers, protected []string
	var validations []admissionv1.Validation
	for _, claim := range c {
		if claim.Kind == kind {
			managers = append(managers, claim.Manager)
		}
	}
	present := func(names ...string) string {
		return fmt.Sprintf(`(variables.after + variables.before).exists(e, e.?manager.orValue("") in %s)`, list(names))
	}
	protected = append(protected, present(managers...))
	for _, claim := range c {
		if claim.Kind != kind {
			continue
		}
		applies := ""
		if claim.Selector != "" {
			selected, err := matches(claim.Selector)
			if err != nil {
				return admissionv1.ValidatingAdmissionPolicySpec{}, err
			}
			protected = append(protected, selected)
			applies = "!(" + present(claim.Manager) + " || " + selected + ")\n|| "
		}
		for _, path := range claim.Exclusive() {
			validations = append(validations, admissionv1.Validation{
				Expression: applies + s.keeps(claim.Manager, path), Reason: new(metav1.StatusReasonForbidden),
				MessageExpression: strconv.Quote(fmt.Sprintf("%s of %s is reserved for the field manager %s: leave the field out of the request, or", path, kind, claim.Manager)) +
					` + "` + s.askFor(),
			})
		}
	}
	return admissionv1.ValidatingAdmissionPolicySpec{
		Variables: []admissionv1.Variable{
			{Name: "after", Expression: "object.?metadata.managedFields.orValue([])"},
			{Name: "before", Expression: "oldObject == null ? [] : oldObject.?metadata.managedFields.orValue([])"},
			// The labels before the request count as well: otherwise a request could remove the label and take the field.
			{Name: "labels", Expression: "[object.?metadata.labels.orValue({}), oldObject == null ? {} : oldObject.?metadata.labels.orValue({})]"},
			{Name: "protected", Expression: strings.Join(protected, "\n|| ")},
		},
		Validations: validations,
	}, nil
}

// keeps returns an expression: no other manager gains the field, and the field stays if its owner applied it.
func (s Settings) keeps(owner string, path fieldowners.Path) string {
	has := func(entry string) string {
		keys := path.Keys()
		for i, key := range keys {
			keys[i] = "[?" + strconv.Quote(key) + "]"
		}
		return entry + ".?fieldsV1" + strings.Join(keys, "") + ".hasValue()"
	}
	quoted := strconv.Quote(owner)
	return "!variables.protected\n|| variables.after.all(a, a.?manager.orValue(\"\") == " + quoted + " || !" + has("a") +
		"\n|| variables.before.exists(b, b.?manager.orValue(\"\") == a.?manager.orValue(\"\") && " + has("b") + "))" +
		"\n&& variables.before.all(b, b.?manager.orValue(\"\") != " + quoted + ` || b.operation != "Apply" || !` + has("b") +
		"\n|| variables.after.exists(a, a.?manager.orValue(\"\") == b.manager && " + has("a") + ")" +
		"\n|| has(request.options) && has(request.options.fieldManager) && request.options.fieldManager == b.manager)" +
		"\n|| " + s.mayUse(quoted)
}

// isReserved returns an expression for whether a name, itself an expression, is reserved.
func (s Settings) isReserved(c contract.Contract, name string) string {
	others := c.Managers()
	if s.Prefix == "" {
		return name + " in " + list(others)
	}
	others = slices.DeleteFunc(others, func(manager string) bool { return strings.HasPrefix(manager, s.Prefix) })
	reserved := fmt.Sprintf("%s.startsWith(%q)", name, s.Prefix)
	if len(others) == 0 {
		return reserved
	}
	return "(" + reserved + " || " + name + " in " + list(others) + ")"
}

// mayUse returns an expression for whether the user has the right to use a field manager.
func (s Settings) mayUse(manager string) string {
	return fmt.Sprintf(`authorizer.group(%q).resource("fieldmanagers").namespace(has(request.namespace) ? request.namespace : "").name(%s).check("use").allowed()`,
		s.Group, manager)
}

// askFor ends a message, inside of a string of CEL.
func (s Settings) askFor() string {
	return " have an administrator bind the ClusterRole " + s.role() + ` to " + request.userInfo.username`
}

func list(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// matches returns an expression for whether a label selector matches the object before or after the request.
func matches(selector string) (string, error) {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return "", err
	}
	requirements, _ := parsed.Requirements() // a parsed selector is selectable
	var all []string
	for _, r := range requirements {
		in := fmt.Sprintf("%q in l", r.Key())
		values := in + fmt.Sprintf(" && l[%q] in %s", r.Key(), list(slices.Sorted(slices.Values(r.ValuesUnsorted()))))
		switch r.Operator() {
		case selection.Exists:
			all = append(all, in)
		case selection.DoesNotExist:
			all = append(all, "!("+in+")")
		case selection.In, selection.Equals, selection.DoubleEquals:
			all = append(all, values)
		case selection.NotIn, selection.NotEquals:
			all = append(all, "!("+values+")")
		default:
			return "", fmt.Errorf("the selector %q compares numbers with < or >, which the generated admission policies do not support: list the values instead, as key in (1, 2)", selector)
		}
	}
	return "variables.labels.exists(l, " + strings.Join(all, " && ") + ")", nil
}
