package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// Identity says which object it is, and at what version.
type Identity struct {
	UID             types.UID
	ResourceVersion string
}

// ReadIdentity reads an object's JSON as far as its identity: of built-in kinds that is
// before all that makes an answer long. To decode the whole took a third of what an
// apply takes the client.
func ReadIdentity(object []byte) (found Identity, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	err = members(decoder, func(name string) (more bool, err error) {
		if name != "metadata" {
			return true, skip(decoder)
		}
		return false, members(decoder, func(name string) (more bool, err error) {
			switch name {
			case "uid":
				err = decoder.Decode(&found.UID)
			case "resourceVersion":
				err = decoder.Decode(&found.ResourceVersion)
			default:
				err = skip(decoder)
			}
			return found.UID == "" || found.ResourceVersion == "", err
		})
	})
	return found, err
}

// members goes through those of the object that comes next, until visit, which has to
// read the value, wants no more.
func members(decoder *json.Decoder, visit func(name string) (more bool, err error)) error {
	begin, err := decoder.Token()
	if err != nil {
		return err
	}
	if begin != json.Delim('{') {
		return fmt.Errorf("it begins with %v, and is no object", begin)
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		if more, err := visit(fmt.Sprint(name)); err != nil || !more {
			return err
		}
	}
	_, err = decoder.Token()
	return err
}

func skip(decoder *json.Decoder) error {
	var value json.RawMessage
	return decoder.Decode(&value)
}
