package apply

import "sigs.k8s.io/controller-runtime/pkg/client"

// ReadBy gives the same check, with the same memory, that reads objects by another
// reader, such as one that hides objects which an applier is not to write to: what is
// not read is not proven. nil stays nil.
func (s *SteadyState) ReadBy(reader client.Reader) *SteadyState {
	if s == nil {
		return nil
	}
	other := *s
	other.reads = s.reads.by(reader)
	return &other
}
