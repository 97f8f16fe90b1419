package nodemaintenance

const (
	// Annotation on a node under maintenance; its value is the name of the
	// NodeMaintenance that cordoned it, of several the last.
	Annotation = "platform.coapply.dev/maintenance"
	// ReasonAnnotation on it is that one's spec.reason. Without one there is none.
	ReasonAnnotation = "platform.coapply.dev/maintenance-reason"
)
