package importer

import (
	_ "example.com/vendored/broken"
	_ "sigs.k8s.io/controller-runtime/pkg/client"
)
