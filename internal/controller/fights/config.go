package fights

import (
	"fmt"
	"strings"

	"coapply.dev/apply/contention"
	"coapply.dev/apply/reconciler"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/controller/fieldmanagers"
)

// Config returns the Config of the platform's State: ours are the field managers with the
// prefix that config/admission reserves.
func Config() contention.Config {
	return contention.Config{
		Ours:      isOurs,
		HowToStop: howToStop,
	}
}

func isOurs(manager string) bool { return strings.HasPrefix(manager, fieldmanagers.Prefix) }

func howToStop(m fieldowners.Manager) string {
	switch {
	case m.Name == fieldmanagers.DevboxPower:
		return "set spec.state of the Devbox to what is wanted, or start this manager with --replicas-conflict=Reject"
	case isOurs(m.Name):
		return fmt.Sprintf("change the spec of the object that it reconciles, or pause that object with the annotation %s: \"true\"",
			reconciler.PausedAnnotation)
	}
	return ""
}
