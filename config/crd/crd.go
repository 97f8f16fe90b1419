// Package crd embeds the CustomResourceDefinition of Devbox, for programs that install it.
package crd

import (
	_ "embed"
)

// Devboxes is the CustomResourceDefinition of Devbox, as YAML.
//
//go:embed platform.coapply.dev_devboxes.yaml
var Devboxes []byte
