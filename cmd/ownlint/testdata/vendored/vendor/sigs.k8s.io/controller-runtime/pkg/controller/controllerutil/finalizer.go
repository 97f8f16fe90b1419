// Package controllerutil is a stub.
package controllerutil

import "sigs.k8s.io/controller-runtime/pkg/client"

func AddFinalizer(client.Object, string) bool { return true }
