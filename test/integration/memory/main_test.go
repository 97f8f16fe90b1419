package memory

import (
	"testing"

	"coapply.dev/test/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
