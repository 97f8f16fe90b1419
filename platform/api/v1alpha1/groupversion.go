package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the group and version of the kinds of this package.
var SchemeGroupVersion = schema.GroupVersion{Group: "platform.coapply.dev", Version: "v1alpha1"}

var builder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&Devbox{}, &DevboxList{},
		&User{}, &UserList{},
		&License{}, &LicenseList{},
		&NodeMaintenance{}, &NodeMaintenanceList{},
		&SlurmController{}, &SlurmControllerList{},
		&NodeSet{}, &NodeSetList{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
})

// AddToScheme adds the kinds of this package to a scheme.
var AddToScheme = builder.AddToScheme
