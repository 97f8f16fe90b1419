package nodemaintenance

const (
	// Annotation is on a node under maintenance; its value is the name of the NodeMaintenance
	// that cordoned it last.
	Annotation = "platform.coapply.dev/maintenance"
	// ReasonAnnotation is on a node under maintenance; its value is that NodeMaintenance's
	// spec.reason. Without a reason it is absent.
	ReasonAnnotation = "platform.coapply.dev/maintenance-reason"
)
