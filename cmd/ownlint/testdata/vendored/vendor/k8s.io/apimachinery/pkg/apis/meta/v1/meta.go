// Package v1 is a stub: just enough to check calls against.
package v1

type TypeMeta struct{}

type ObjectMeta struct{ Finalizers []string }

func (m *ObjectMeta) GetFinalizers() []string     { return m.Finalizers }
func (m *ObjectMeta) SetFinalizers(list []string) { m.Finalizers = list }
func (m *ObjectMeta) SetResourceVersion(string)   {}
