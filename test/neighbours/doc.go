// Package neighbours runs other people's programs beside the platform, on the local control plane, as their users do, and
// holds who owned what after each step against a table in testdata: docs/neighbours.md has what follows from it.
//
//	make neighbours          # kubectl, the HPA, fluxcd/pkg/ssa, what Argo CD sends
//	make neighbours ALL=1    # Helm, the VPA and Argo CD's engine as well, whose first builds take minutes
//	make neighbours K8S=1.36.3
//	make neighbours KUBECTL=PATH
//
// It is a module of its own, so that nothing else depends on what it runs. The VPA and Argo CD's engine are in modules of their
// own, as they ask for other versions of what it needs.
package neighbours
