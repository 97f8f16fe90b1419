package arms

import "coapply.dev/compare"

func sets() []compare.Arm { return nil }
