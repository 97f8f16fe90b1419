// Package english keeps kubectl's packages, which complete our arguments, from loading
// translations before main begins: nothing that the plugin prints is translated, and loading
// took 15 of the 40 ms of CPU of a call.
//
// Importing the package is enough. Packages are initialised in the order of their import
// paths as soon as all that they import are, so this one comes before any of
// k8s.io/kubectl that has texts to translate.
package english

import "k8s.io/kubectl/pkg/util/i18n"

func init() {
	_ = i18n.SetLoadTranslationsFunc(func() error { return nil }) // the only error is that they are loaded already
}
