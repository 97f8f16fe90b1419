package predict

import (
	"coapply.dev/fieldowners"
)

// conceal hides the values of a Secret. That a value is absent may be shown.
func (p *Prediction) conceal() {
	hide := func(path fieldowners.Path, values ...*any) {
		if !path.HoldsSecret() {
			return
		}
		for _, v := range values {
			*v = fieldowners.Hide(*v)
		}
	}
	for i := range p.Conflicts {
		hide(p.Conflicts[i].Path, &p.Conflicts[i].Ours, &p.Conflicts[i].Theirs)
	}
	for i := range p.Changes {
		hide(p.Changes[i].Path, &p.Changes[i].Before, &p.Changes[i].After)
	}
	for i := range p.Dropped {
		hide(p.Dropped[i].Path, &p.Dropped[i].Value)
	}
}
