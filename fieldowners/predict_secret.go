package fieldowners

import "slices"

// concealed stands for a value that must not be shown.
const concealed = concealedValue("(hidden)")

type concealedValue string

// secrets are the fields of a Secret whose values are.
var secrets = []Path{MustParsePath(".data"), MustParsePath(".stringData"), lastApplied}

// conceal takes out what must not be shown of a Secret. That a value is not there
// may be.
func (p *Prediction) conceal() {
	hide := func(path Path, values ...*any) {
		if !slices.ContainsFunc(secrets, func(s Path) bool { return path.HasPrefix(s) || s.HasPrefix(path) }) {
			return
		}
		for _, v := range values {
			if *v != nil {
				*v = concealed
			}
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
