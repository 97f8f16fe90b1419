package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Identity identifies one version of an object.
type Identity struct {
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

// Head is the part of an object's metadata that an apply needs from the answer.
type Head struct {
	Identity
	ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
}

// ReadHead reads an object's JSON as far as its metadata, which in the answers of the API
// server come before the rest. The fields of the managed fields entries stay as JSON: encoding
// them again would take longer than all else that the client does for an apply.
func ReadHead(object []byte) (found Head, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	begin, err := decoder.Token()
	if err == nil && begin != json.Delim('{') {
		err = fmt.Errorf("it begins with %v, and is no object", begin)
	}
	for err == nil && decoder.More() {
		var name json.Token
		if name, err = decoder.Token(); err != nil {
			return Head{}, err
		}
		if name == "metadata" {
			err = decoder.Decode(&found)
			return found, err
		}
		var skipped json.RawMessage
		err = decoder.Decode(&skipped)
	}
	if err == nil {
		_, err = decoder.Token()
	}
	return Head{}, err
}
