package apply

import "coapply.dev/apply/lanes"

// LanesOfSets gives the lanes that the members and the parents of sets share.
func LanesOfSets(s *ApplySets) *lanes.Set {
	if s.members.config.Lanes != s.parents.config.Lanes {
		return nil
	}
	return s.members.config.Lanes
}

// Belongs is for the tests of what Intent.Belongs is given.
var Belongs = belongs
