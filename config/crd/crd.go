// Package crd holds the project's CustomResourceDefinitions for programs that install them.
package crd

import (
	_ "embed"
)

// Devboxes is the definition of Devbox, as YAML.
//
//go:embed platform.coapply.dev_devboxes.yaml
var Devboxes []byte
