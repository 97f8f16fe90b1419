package steady

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestProveStringData: the object has the data into which the API server converts stringData.
func TestProveStringData(t *testing.T) {
	core := schemasOf(t, serverModels(t, "api/v1"))
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: web, namespace: shop}\n"
	prove := func(config, live string) *proofCase { return newProof(t, core, secret+config, secret+live) }
	const one, two = "stringData: {a: one}", "stringData: {a: one}\ndata: {b: dHdv}"
	for name, c := range map[string]struct {
		*proofCase

		want string
	}{
		"moved":                    {prove(one, "data: {a: b25l}"), "exactly"},
		"moved, read as its type":  {prove(one, "data: {a: b25l}").readAs(t, &corev1.Secret{}), "exactly"},
		"beside another's data":    {prove(one, "data: {a: b25l, b: dHdv}").sharedBy(`{"f:data":{"f:b":{}}}`), "exactly"},
		"whose data is another's":  {prove(one, "data: {a: b25l}").sharedBy(`{"f:data":{"f:a":{}}}`), "exactly"},
		"another value":            {prove(one, "data: {a: dHdv}"), "would change"},
		"no value":                 {prove(one, "data: {b: dHdv}"), "would change"},
		"not moved":                {prove(one, one), "would change"},
		"with data":                {prove(two, "data: {a: b25l, b: dHdv}"), "exactly"},
		"with other data":          {prove(two, "data: {a: b25l, b: b25l}"), "would change"},
		"with empty data":          {prove(one+"\ndata: {}", "data: {a: b25l}"), "sets data to {} or null"},
		"with the same key":        {prove(one+"\ndata: {a: b25l}", "data: {a: b25l}"), "also in the intent's data"},
		"empty":                    {prove("stringData: {}", "data: {a: b25l}"), "exactly"},
		"null":                     {prove("stringData: null", "data: {a: b25l}"), "not a map"},
		"a key that is null":       {prove("stringData: {a: null}", "data: {a: ''}"), "not a string"},
		"others own a key":         {prove(one, "data: {a: b25l}").sharedBy(`{"f:stringData":{"f:a":{}}}`), "another field manager also owns fields of stringData"},
		"others own it as a whole": {prove(one, "data: {a: b25l}").sharedBy(`{"f:stringData":{}}`), "another field manager also owns fields of stringData"},
		"who knows who owns it":    {prove(one, "data: {a: b25l}").sharedBy(`{"i:x":{}}`), "another field manager also owns fields of stringData"},
	} {
		t.Run(name, func(t *testing.T) { c.wants(t, c.want) })
	}
}
