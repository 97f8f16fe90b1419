package explain

import "coapply.dev/fieldowners"

// hideKnown returns what is shown instead of a value, also for null; nil if there is no value.
func hideKnown(known bool) any {
	if !known {
		return nil
	}
	return fieldowners.Hidden
}
