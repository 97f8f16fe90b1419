package applytest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// builtinGroups lists the built-in kinds that the server serves.
var builtinGroups = []*builtinGroup{
	{version: corev1.SchemeGroupVersion, kinds: []*kind{
		{object: &corev1.ConfigMap{}, list: &corev1.ConfigMapList{}, resource: "configmaps", shortNames: []string{"cm"}, validate: validateConfigMap},
		{object: &corev1.Secret{}, list: &corev1.SecretList{}, resource: "secrets", prepare: prepareSecret, validate: validateSecret},
		{object: &corev1.ServiceAccount{}, list: &corev1.ServiceAccountList{}, resource: "serviceaccounts", shortNames: []string{"sa"}, prepare: prepareServiceAccount},
		{
			object: &corev1.Namespace{}, list: &corev1.NamespaceList{}, resource: "namespaces", shortNames: []string{"ns"}, cluster: true, status: true,
			prepare: prepareNamespace, validate: validateNamespace, validateStatus: validateNamespaceStatus, name: apivalidation.ValidateNamespaceName,
		},
		{
			object: &corev1.Service{}, list: &corev1.ServiceList{}, resource: "services", prefix: "services/specs", shortNames: []string{"svc"}, status: true, putCreates: true,
			prepare: prepareService, validate: validateService, validateStatus: validateServiceStatus, name: apivalidation.NameIsDNS1035Label,
		},
	}},
	{version: appsv1.SchemeGroupVersion, kinds: []*kind{{
		object: &appsv1.Deployment{}, list: &appsv1.DeploymentList{}, resource: "deployments", shortNames: []string{"deploy"}, status: true,
		validate: validateDeployment, validateStatus: validateDeploymentStatus, scale: scaleOfDeployment,
		generation: func(object, old runtime.Object) bool {
			a, b := object.(*appsv1.Deployment), old.(*appsv1.Deployment)
			return !apiequality.Semantic.DeepEqual(a.Spec, b.Spec) || !apiequality.Semantic.DeepEqual(a.Annotations, b.Annotations)
		},
	}}},
	{version: rbacv1.SchemeGroupVersion, kinds: []*kind{
		{object: &rbacv1.Role{}, list: &rbacv1.RoleList{}, resource: "roles", putCreates: true, validate: validateRole, name: pathSegment},
		{object: &rbacv1.ClusterRole{}, list: &rbacv1.ClusterRoleList{}, resource: "clusterroles", cluster: true, putCreates: true, validate: validateRole, name: pathSegment},
	}},
	{version: eventsv1.SchemeGroupVersion, kinds: []*kind{
		{object: &eventsv1.Event{}, list: &eventsv1.EventList{}, resource: "events", shortNames: []string{"ev"}, putCreates: true},
	}},
	{version: coordinationv1.SchemeGroupVersion, kinds: []*kind{
		{object: &coordinationv1.Lease{}, list: &coordinationv1.LeaseList{}, resource: "leases", putCreates: true, needsVersion: true, anyFinalizer: true, validate: validateLease},
	}},
}

// addDefaults adds defaulting functions to the scheme. The functions set the same defaults as kube-apiserver, for the
// fields that the server in memory models.
func addDefaults(scheme *runtime.Scheme) {
	scheme.AddTypeDefaultingFunc(&corev1.Secret{}, func(object any) {
		secret := object.(*corev1.Secret)
		setDefault(&secret.Type, corev1.SecretTypeOpaque)
		if len(secret.StringData) > 0 && secret.Data == nil { // kube-apiserver does this when it converts the Secret to its internal type
			secret.Data = map[string][]byte{}
		}
		for key, value := range secret.StringData {
			secret.Data[key] = []byte(value)
		}
		secret.StringData = nil
	})
	scheme.AddTypeDefaultingFunc(&corev1.Namespace{}, func(object any) {
		namespace := object.(*corev1.Namespace)
		nameNamespace(namespace)
		setDefault(&namespace.Status.Phase, corev1.NamespaceActive)
	})
	scheme.AddTypeDefaultingFunc(&corev1.Service{}, func(object any) { defaultService(object.(*corev1.Service)) })
	scheme.AddTypeDefaultingFunc(&appsv1.Deployment{}, func(object any) { defaultDeployment(object.(*appsv1.Deployment)) })
}

// pathSegment validates the name of an RBAC object, which must be a segment of a URL path.
func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

func setDefault[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

func nameNamespace(namespace *corev1.Namespace) {
	if namespace.Name == "" {
		return // the name will be generated later
	}
	if namespace.Labels == nil {
		namespace.Labels = map[string]string{}
	}
	namespace.Labels[corev1.LabelMetadataName] = namespace.Name
}

func prepareNamespace(object, old runtime.Object) {
	namespace := object.(*corev1.Namespace)
	if old != nil {
		namespace.Spec.Finalizers = old.(*corev1.Namespace).Spec.Finalizers
		return
	}
	namespace.Status.Phase = corev1.NamespaceActive
	nameNamespace(namespace)
	if !slices.Contains(namespace.Spec.Finalizers, corev1.FinalizerKubernetes) {
		namespace.Spec.Finalizers = append(namespace.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

func validateNamespace(object, old runtime.Object) (wrong field.ErrorList) {
	for i, finalizer := range object.(*corev1.Namespace).Spec.Finalizers {
		path := field.NewPath("spec", "finalizers")
		if old != nil {
			path = path.Index(i)
		}
		wrong = append(wrong, apivalidation.ValidateFinalizerName(string(finalizer), path)...)
		wrong = append(wrong, validateFinalizer(string(finalizer), path)...)
	}
	return wrong
}

func validateNamespaceStatus(object, _ runtime.Object) field.ErrorList {
	namespace, path := object.(*corev1.Namespace), field.NewPath("status", "Phase")
	switch phase := namespace.Status.Phase; {
	case namespace.DeletionTimestamp.IsZero() && phase != corev1.NamespaceActive:
		return field.ErrorList{field.Invalid(path, phase, "may only be 'Active' if `deletionTimestamp` is empty")}
	case !namespace.DeletionTimestamp.IsZero() && phase != corev1.NamespaceTerminating:
		return field.ErrorList{field.Invalid(path, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")}
	}
	return nil
}

// prepareServiceAccount clears all fields but the name in the references to the ServiceAccount's secrets.
func prepareServiceAccount(object, _ runtime.Object) {
	secrets := object.(*corev1.ServiceAccount).Secrets
	for i := range secrets {
		secrets[i] = corev1.ObjectReference{Name: secrets[i].Name}
	}
}

func prepareSecret(object, old runtime.Object) {
	if old != nil {
		setDefault(&object.(*corev1.Secret).Type, old.(*corev1.Secret).Type)
	}
}

func validateConfigMap(object, old runtime.Object) (wrong field.ErrorList) {
	config := object.(*corev1.ConfigMap)
	if old, ok := old.(*corev1.ConfigMap); ok && isTrue(old.Immutable) {
		wrong = immutable(config.Immutable, "data", config.Data, old.Data)
		if !reflect.DeepEqual(config.BinaryData, old.BinaryData) {
			wrong = append(wrong, field.Forbidden(field.NewPath("binaryData"), immutableMessage))
		}
	}
	for _, key := range sortedKeys(config.Data) {
		wrong = append(wrong, validateKey("data", key)...)
		if _, both := config.BinaryData[key]; both {
			wrong = append(wrong, field.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData"))
		}
	}
	for _, key := range sortedKeys(config.BinaryData) {
		wrong = append(wrong, validateKey("binaryData", key)...)
	}
	if size(config.Data)+size(config.BinaryData) > corev1.MaxSecretSize {
		wrong = append(wrong, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	}
	return wrong
}

func validateSecret(object, old runtime.Object) (wrong field.ErrorList) {
	secret := object.(*corev1.Secret)
	if old, ok := old.(*corev1.Secret); ok {
		wrong = apivalidation.ValidateImmutableField(secret.Type, old.Type, field.NewPath("type"))
		if isTrue(old.Immutable) {
			wrong = append(wrong, immutable(secret.Immutable, "data", secret.Data, old.Data)...)
		}
	}
	for _, key := range sortedKeys(secret.Data) {
		wrong = append(wrong, validateKey("data", key)...)
	}
	if size(secret.Data) > corev1.MaxSecretSize {
		wrong = append(wrong, field.TooLong(field.NewPath("data"), "", corev1.MaxSecretSize))
	}
	if secret.Type != corev1.SecretTypeOpaque && strings.Contains(string(secret.Type), "kubernetes.io/") {
		wrong = append(wrong, notModelled(field.NewPath("type"), "a Secret of a built-in type"))
	}
	return wrong
}

const immutableMessage = "field is immutable when `immutable` is set"

func immutable(now *bool, name string, data, old any) (wrong field.ErrorList) {
	if !isTrue(now) {
		wrong = append(wrong, field.Forbidden(field.NewPath("immutable"), immutableMessage))
	}
	if !reflect.DeepEqual(data, old) {
		wrong = append(wrong, field.Forbidden(field.NewPath(name), immutableMessage))
	}
	return wrong
}

func validateKey(name, key string) (wrong field.ErrorList) {
	for _, message := range validation.IsConfigMapKey(key) {
		wrong = append(wrong, field.Invalid(field.NewPath(name).Key(key), key, message))
	}
	return wrong
}

func size[V string | []byte](values map[string]V) (total int) {
	for _, value := range values {
		total += len(value)
	}
	return total
}

func sortedKeys[V any](values map[string]V) []string { return slices.Sorted(maps.Keys(values)) }

func isTrue(b *bool) bool { return b != nil && *b }

func defaultService(service *corev1.Service) {
	spec := &service.Spec
	setDefault(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	setDefault(&spec.Type, corev1.ServiceTypeClusterIP)
	for i := range spec.Ports {
		port := &spec.Ports[i]
		setDefault(&port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	setDefault(&spec.InternalTrafficPolicy, new(corev1.ServiceInternalTrafficPolicyCluster))
}

// prepareService sets the allocated fields of a new Service, such as the cluster IP. Unlike kube-apiserver, it may give
// two Services the same address: it makes the address from the uid.
func prepareService(object, old runtime.Object) {
	uid, spec := object.(*corev1.Service).UID, &object.(*corev1.Service).Spec
	if old, ok := old.(*corev1.Service); ok { // an update that omits one of these fields does not change the field
		setDefault(&spec.ClusterIP, old.Spec.ClusterIP)
		setDefault(&spec.IPFamilyPolicy, old.Spec.IPFamilyPolicy)
		if len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = old.Spec.ClusterIPs
		}
		if len(spec.IPFamilies) == 0 {
			spec.IPFamilies = old.Spec.IPFamilies
		}
		return
	}
	setDefault(&spec.ClusterIP, fmt.Sprintf("10.%d.%d.%d", uid[0], uid[1], uid[2]))
	spec.ClusterIPs = []string{spec.ClusterIP}
	spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	setDefault(&spec.IPFamilyPolicy, new(corev1.IPFamilyPolicySingleStack))
}

func validateServiceStatus(object, _ runtime.Object) field.ErrorList {
	if len(object.(*corev1.Service).Status.LoadBalancer.Ingress) == 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("status", "loadBalancer", "ingress"), "may only be used when `spec.type` is 'LoadBalancer'")}
}

func validateService(object, old runtime.Object) (wrong field.ErrorList) {
	at, spec := field.NewPath("spec"), object.(*corev1.Service).Spec
	if spec.Type != corev1.ServiceTypeClusterIP {
		wrong = append(wrong, notModelled(at.Child("type"), "Services of type "+string(spec.Type)))
	}
	if old, ok := old.(*corev1.Service); ok && spec.ClusterIP != old.Spec.ClusterIP {
		wrong = append(wrong, field.Invalid(at.Child("clusterIPs").Index(0), []string{spec.ClusterIP}, "may not change once set"))
	}
	if len(spec.Ports) == 0 && spec.ClusterIP != corev1.ClusterIPNone {
		wrong = append(wrong, field.Required(at.Child("ports"), ""))
	}
	named, used := map[string]bool{}, map[string]bool{}
	for i, port := range spec.Ports {
		at := at.Child("ports").Index(i)
		switch {
		case port.Name == "" && len(spec.Ports) > 1:
			wrong = append(wrong, field.Required(at.Child("name"), ""))
		case port.Name != "" && named[port.Name]:
			wrong = append(wrong, field.Duplicate(at.Child("name"), port.Name))
		case port.Name != "":
			for _, message := range validation.IsDNS1123Label(port.Name) {
				wrong = append(wrong, field.Invalid(at.Child("name"), port.Name, message))
			}
		}
		for _, message := range validation.IsValidPortNum(int(port.Port)) {
			wrong = append(wrong, field.Invalid(at.Child("port"), port.Port, message))
		}
		if key := fmt.Sprint(port.Protocol, port.Port); used[key] {
			wrong = append(wrong, field.Duplicate(at, corev1.ServicePort{Protocol: port.Protocol, Port: port.Port}))
		} else {
			used[key] = true
		}
		named[port.Name] = true
	}
	return wrong
}

func validateLease(object, _ runtime.Object) (wrong field.ErrorList) {
	at, spec := field.NewPath("spec"), object.(*coordinationv1.Lease).Spec
	if spec.LeaseDurationSeconds != nil && *spec.LeaseDurationSeconds <= 0 {
		wrong = append(wrong, field.Invalid(at.Child("leaseDurationSeconds"), spec.LeaseDurationSeconds, "must be greater than 0"))
	}
	if spec.LeaseTransitions != nil && *spec.LeaseTransitions < 0 {
		wrong = append(wrong, field.Invalid(at.Child("leaseTransitions"), spec.LeaseTransitions, "must be greater than or equal to 0"))
	}
	if spec.Strategy != nil || spec.PreferredHolder != nil {
		wrong = append(wrong, notModelled(at.Child("strategy"), "coordinated leader election"))
	}
	return wrong
}

func validateRole(object, _ runtime.Object) (wrong field.ErrorList) {
	var rules []rbacv1.PolicyRule
	switch role := object.(type) {
	case *rbacv1.Role:
		rules = role.Rules
	case *rbacv1.ClusterRole:
		rules = role.Rules
		if role.AggregationRule != nil {
			wrong = append(wrong, notModelled(field.NewPath("aggregationRule"), "aggregated ClusterRoles"))
		}
	}
	for i, rule := range rules {
		at := field.NewPath("rules").Index(i)
		if len(rule.NonResourceURLs) > 0 {
			wrong = append(wrong, notModelled(at.Child("nonResourceURLs"), "rules for non-resource URLs"))
		}
		if len(rule.Verbs) == 0 {
			wrong = append(wrong, field.Required(at.Child("verbs"), "verbs must contain at least one value"))
		}
		if len(rule.APIGroups) == 0 {
			wrong = append(wrong, field.Required(at.Child("apiGroups"), "resource rules must supply at least one api group"))
		}
		if len(rule.Resources) == 0 {
			wrong = append(wrong, field.Required(at.Child("resources"), "resource rules must supply at least one resource"))
		}
	}
	return wrong
}

func defaultDeployment(deployment *appsv1.Deployment) {
	spec := &deployment.Spec
	setDefault(&spec.Replicas, new(int32(1)))
	setDefault(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		setDefault(&spec.Strategy.RollingUpdate, &appsv1.RollingUpdateDeployment{})
		setDefault(&spec.Strategy.RollingUpdate.MaxUnavailable, new(intstr.FromString("25%")))
		setDefault(&spec.Strategy.RollingUpdate.MaxSurge, new(intstr.FromString("25%")))
	}
	setDefault(&spec.RevisionHistoryLimit, new(int32(10)))
	setDefault(&spec.ProgressDeadlineSeconds, new(int32(600)))
	defaultPod(&spec.Template.Spec)
}

// defaultStrategy returns the default of a Deployment's strategy.
func defaultStrategy() appsv1.DeploymentStrategy {
	quarter := intstr.FromString("25%")
	return appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &quarter, MaxSurge: &quarter},
	}
}

func defaultPod(pod *corev1.PodSpec) {
	setDefault(&pod.ServiceAccountName, pod.DeprecatedServiceAccount)
	pod.DeprecatedServiceAccount = pod.ServiceAccountName
	setDefault(&pod.DNSPolicy, corev1.DNSClusterFirst)
	setDefault(&pod.RestartPolicy, corev1.RestartPolicyAlways)
	setDefault(&pod.SecurityContext, &corev1.PodSecurityContext{})
	setDefault(&pod.TerminationGracePeriodSeconds, new(int64(corev1.DefaultTerminationGracePeriodSeconds)))
	setDefault(&pod.SchedulerName, corev1.DefaultSchedulerName)
	for i := range pod.Volumes {
		switch volume := &pod.Volumes[i]; {
		case volume.VolumeSource == corev1.VolumeSource{}:
			volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
		case volume.ConfigMap != nil:
			setDefault(&volume.ConfigMap.DefaultMode, new(corev1.ConfigMapVolumeSourceDefaultMode))
		case volume.Secret != nil:
			setDefault(&volume.Secret.DefaultMode, new(corev1.SecretVolumeSourceDefaultMode))
		}
	}
	for i := range pod.Containers {
		container := &pod.Containers[i]
		for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
			if probe != nil {
				defaultProbe(probe)
			}
		}
		for j := range container.Ports {
			setDefault(&container.Ports[j].Protocol, corev1.ProtocolTCP)
		}
		setDefault(&container.ImagePullPolicy, pullPolicy(container.Image))
		setDefault(&container.TerminationMessagePath, corev1.TerminationMessagePathDefault)
		setDefault(&container.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
		roundUp(container.Resources.Limits)
		roundUp(container.Resources.Requests)
	}
}

func defaultProbe(probe *corev1.Probe) {
	setDefault(&probe.TimeoutSeconds, 1)
	setDefault(&probe.PeriodSeconds, 10)
	setDefault(&probe.SuccessThreshold, 1)
	setDefault(&probe.FailureThreshold, 3)
	if get := probe.HTTPGet; get != nil {
		setDefault(&get.Path, "/")
		setDefault(&get.Scheme, corev1.URISchemeHTTP)
	}
	if probe.GRPC != nil {
		setDefault(&probe.GRPC.Service, new(""))
	}
}

func pullPolicy(image string) corev1.PullPolicy {
	name := image[strings.LastIndex(image, "/")+1:]
	if _, tag, tagged := strings.Cut(name, ":"); image == "" || tagged && tag != "latest" || strings.Contains(name, "@") {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}

func roundUp(quantities corev1.ResourceList) {
	for name, quantity := range quantities {
		quantity.RoundUp(resource.Milli)
		quantities[name] = quantity
	}
}

func validateDeploymentStatus(object, old runtime.Object) (wrong field.ErrorList) {
	status, at := object.(*appsv1.Deployment).Status, field.NewPath("status")
	terminating, collisions := int64(ptr.Deref(status.TerminatingReplicas, 0)), ptr.Deref(status.CollisionCount, 0)
	for _, count := range []struct {
		name  string
		value int64
	}{
		{"observedGeneration", status.ObservedGeneration},
		{"replicas", int64(status.Replicas)},
		{"updatedReplicas", int64(status.UpdatedReplicas)},
		{"readyReplicas", int64(status.ReadyReplicas)},
		{"availableReplicas", int64(status.AvailableReplicas)},
		{"unavailableReplicas", int64(status.UnavailableReplicas)},
		{"terminatingReplicas", terminating},
		{"collisionCount", int64(collisions)},
	} {
		wrong = append(wrong, apivalidation.ValidateNonnegativeField(count.value, at.Child(count.name))...)
	}
	atMost := func(name string, value, limit int32, limitName string) {
		if value > limit {
			wrong = append(wrong, field.Invalid(at.Child(name), value, "cannot be greater than "+limitName))
		}
	}
	atMost("updatedReplicas", status.UpdatedReplicas, status.Replicas, "status.replicas")
	atMost("readyReplicas", status.ReadyReplicas, status.Replicas, "status.replicas")
	atMost("availableReplicas", status.AvailableReplicas, status.Replicas, "status.replicas")
	atMost("availableReplicas", status.AvailableReplicas, status.ReadyReplicas, "readyReplicas")
	if before := old.(*appsv1.Deployment).Status.CollisionCount; before != nil && collisions < *before {
		wrong = append(wrong, field.Invalid(at.Child("collisionCount"), collisions, "cannot be decremented"))
	}
	return wrong
}

func validateDeployment(object, old runtime.Object) (wrong field.ErrorList) {
	deployment, at := object.(*appsv1.Deployment), field.NewPath("spec")
	spec := &deployment.Spec
	wrong = append(wrong, apivalidation.ValidateNonnegativeField(int64(*spec.Replicas), at.Child("replicas"))...)
	if spec.Selector == nil {
		wrong = append(wrong, field.Required(at.Child("selector"), ""))
	} else {
		wrong = append(wrong, metav1validation.ValidateLabelSelector(spec.Selector, metav1validation.LabelSelectorValidationOptions{}, at.Child("selector"))...)
		if len(spec.Selector.MatchLabels)+len(spec.Selector.MatchExpressions) == 0 {
			wrong = append(wrong, field.Invalid(at.Child("selector"), spec.Selector, "empty selector is invalid for deployment"))
		}
	}
	if selector, err := metav1.LabelSelectorAsSelector(spec.Selector); err != nil {
		wrong = append(wrong, field.Invalid(at.Child("selector"), spec.Selector, "invalid label selector"))
	} else {
		wrong = append(wrong, validateTemplate(&spec.Template, selector, at.Child("template"))...)
	}
	if strategy := spec.Strategy; strategy != (appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}) &&
		!apiequality.Semantic.DeepEqual(strategy, defaultStrategy()) {
		wrong = append(wrong, notModelled(at.Child("strategy"), "strategies other than Recreate and the default"))
	}
	wrong = append(wrong, apivalidation.ValidateNonnegativeField(int64(spec.MinReadySeconds), at.Child("minReadySeconds"))...)
	wrong = append(wrong, apivalidation.ValidateNonnegativeField(int64(*spec.RevisionHistoryLimit), at.Child("revisionHistoryLimit"))...)
	wrong = append(wrong, apivalidation.ValidateNonnegativeField(int64(*spec.ProgressDeadlineSeconds), at.Child("progressDeadlineSeconds"))...)
	if *spec.ProgressDeadlineSeconds <= spec.MinReadySeconds {
		wrong = append(wrong, field.Invalid(at.Child("progressDeadlineSeconds"), spec.ProgressDeadlineSeconds, "must be greater than minReadySeconds"))
	}
	if old, ok := old.(*appsv1.Deployment); ok {
		wrong = append(wrong, apivalidation.ValidateImmutableField(spec.Selector, old.Spec.Selector, at.Child("selector"))...)
	}
	return wrong
}

func validateTemplate(template *corev1.PodTemplateSpec, selector labels.Selector, at *field.Path) (wrong field.ErrorList) {
	if !selector.Empty() && !selector.Matches(labels.Set(template.Labels)) {
		wrong = append(wrong, field.Invalid(at.Child("metadata", "labels"), template.Labels, "`selector` does not match template `labels`"))
	}
	at = at.Child("spec")
	if len(template.Spec.Containers) == 0 {
		wrong = append(wrong, field.Required(at.Child("containers"), ""))
	}
	named := map[string]bool{}
	for i, container := range template.Spec.Containers {
		at := at.Child("containers").Index(i)
		switch {
		case container.Name == "":
			wrong = append(wrong, field.Required(at.Child("name"), ""))
		case named[container.Name]:
			wrong = append(wrong, field.Duplicate(at.Child("name"), container.Name))
		default:
			for _, message := range validation.IsDNS1123Label(container.Name) {
				wrong = append(wrong, field.Invalid(at.Child("name"), container.Name, message))
			}
		}
		named[container.Name] = true
		if container.Image == "" {
			wrong = append(wrong, field.Required(at.Child("image"), ""))
		}
		wrong = append(wrong, validatePorts(container.Ports, at.Child("ports"))...)
	}
	if field := unmodelled(template); field != "" {
		wrong = append(wrong, notModelled(at, "pod templates with "+field))
	}
	if template.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		wrong = append(wrong, field.NotSupported(at.Child("restartPolicy"), template.Spec.RestartPolicy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	return wrong
}

func validatePorts(ports []corev1.ContainerPort, at *field.Path) (wrong field.ErrorList) {
	named := map[string]bool{}
	for i, port := range ports {
		at := at.Index(i)
		if port.Name != "" {
			messages := validation.IsValidPortName(port.Name)
			for _, message := range messages {
				wrong = append(wrong, field.Invalid(at.Child("name"), port.Name, message))
			}
			if len(messages) == 0 && named[port.Name] {
				wrong = append(wrong, field.Duplicate(at.Child("name"), port.Name))
			}
			named[port.Name] = true
		}
		if port.ContainerPort == 0 {
			wrong = append(wrong, field.Required(at.Child("containerPort"), ""))
		} else {
			for _, message := range validation.IsValidPortNum(int(port.ContainerPort)) {
				wrong = append(wrong, field.Invalid(at.Child("containerPort"), port.ContainerPort, message))
			}
		}
	}
	return wrong
}

// unmodelled returns the name of a field of a pod template that the server does not model: the field has defaults or
// validation rules that the server lacks. It returns "" if there is no such field.
func unmodelled(template *corev1.PodTemplateSpec) string {
	pod := template.Spec.DeepCopy()
	for i := range pod.Containers {
		c := pod.Containers[i]
		pod.Containers[i] = corev1.Container{
			Lifecycle: c.Lifecycle, VolumeDevices: c.VolumeDevices, EnvFrom: c.EnvFrom, ResizePolicy: c.ResizePolicy,
			RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules, SecurityContext: c.SecurityContext,
		}
		if !apiequality.Semantic.DeepEqual(pod.Containers[i], corev1.Container{}) || slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.ValueFrom != nil }) {
			return "containers that have envFrom, hooks, a security context, or environment variables with a source"
		}
	}
	if !apiequality.Semantic.DeepEqual(*pod.SecurityContext, corev1.PodSecurityContext{}) {
		return "a security context"
	}
	rest := corev1.PodSpec{
		Containers: pod.Containers, ServiceAccountName: pod.ServiceAccountName, DeprecatedServiceAccount: pod.DeprecatedServiceAccount,
		DNSPolicy: pod.DNSPolicy, RestartPolicy: pod.RestartPolicy, SecurityContext: pod.SecurityContext, SchedulerName: pod.SchedulerName,
		TerminationGracePeriodSeconds: pod.TerminationGracePeriodSeconds, NodeSelector: pod.NodeSelector, PriorityClassName: pod.PriorityClassName,
		Volumes: pod.Volumes,
	}
	for _, volume := range pod.Volumes {
		if volume.EmptyDir == nil && volume.ConfigMap == nil && volume.Secret == nil {
			return "volumes other than emptyDir, configMap and secret"
		}
	}
	if !apiequality.Semantic.DeepEqual(*pod, rest) {
		return "fields other than containers, volumes, nodeSelector, dnsPolicy, schedulerName, serviceAccountName and terminationGracePeriodSeconds"
	}
	return ""
}

// notModelled returns the validation error for a field that kube-apiserver has and that the server in memory does not
// model.
func notModelled(at *field.Path, what string) *field.Error {
	return field.Forbidden(at, "applytest does not model "+what)
}
