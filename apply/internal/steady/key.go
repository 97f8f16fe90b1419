package steady

import (
	"crypto/sha256"

	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/apply/internal/wire"
)

// Key identifies the content of an intent, the manager that applies it, and the subresource.
type Key struct {
	Manager     string
	Subresource string

	intent [sha256.Size]byte // of the JSON
}

// KeyOf returns the Key of a configuration, and false if the configuration cannot be encoded.
func KeyOf(configuration runtime.ApplyConfiguration, manager, subresource string) (Key, bool) {
	encoded, err := wire.Encode(configuration)
	return Key{manager, subresource, sha256.Sum256(encoded.JSON)}, err == nil
}
