package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"coapply.dev/fieldowners"
)

// document is the YAML form of a contract: the claims by field manager, and then by kind.
type document struct {
	Managers map[string]map[string]Claim `json:"managers"`
}

// Read reads a contract in the YAML format that Write writes. It returns an error for unknown keys,
// duplicate keys, and every problem that Check reports. The error joins all problems.
func Read(r io.Reader) (Contract, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(text, []byte("\n---")) {
		return nil, errors.New("contract: the text has more than one YAML document; put all claims into one document")
	}
	encoded, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	var read document
	wrong, err := json.UnmarshalStrict(encoded, &read)
	if err = errors.Join(append(wrong, err)...); err != nil {
		return nil, fmt.Errorf(`contract: %w; the key of a contract is "managers", `+
			`and the keys of a claim are "applies", "updates", "shared" and "selector"`, err)
	}
	var c Contract
	for _, manager := range slices.Sorted(maps.Keys(read.Managers)) {
		kinds := read.Managers[manager]
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			claim := kinds[kind]
			claim.Manager, claim.Kind = manager, schema.ParseGroupKind(kind)
			c = append(c, claim)
		}
	}
	if len(c) == 0 {
		return nil, errors.New(`contract: the key "managers" is missing or lists no field manager`)
	}
	if err := Check(c); err != nil {
		return nil, err
	}
	return c, nil
}

// Write writes a contract as YAML, sorted by manager, kind and path. If Check rejects the contract,
// Write returns the error of Check and writes nothing.
func Write(w io.Writer, c Contract) error {
	if err := Check(c); err != nil {
		return err
	}
	written := document{Managers: map[string]map[string]Claim{}}
	for _, claim := range c {
		if written.Managers[claim.Manager] == nil {
			written.Managers[claim.Manager] = map[string]Claim{}
		}
		claim.Applies, claim.Updates = sorted(claim.Applies), sorted(claim.Updates)
		written.Managers[claim.Manager][claim.Kind.String()] = claim
	}
	text, err := yaml.Marshal(written)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// sorted returns the paths sorted by fieldowners.Path.Compare.
func sorted(paths []string) []string {
	return slices.SortedFunc(slices.Values(paths), func(a, b string) int {
		return fieldowners.MustParsePath(a).Compare(fieldowners.MustParsePath(b)) // Check has parsed them
	})
}
