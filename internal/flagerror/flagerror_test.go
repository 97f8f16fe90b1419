package flagerror_test

import (
	"io"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"coapply.dev/internal/flagerror"
)

func TestPlain(t *testing.T) {
	for _, test := range []struct{ reason, given, want string }{
		{"no number", "--port=abc", `--port is "abc", want a whole number from 0 to 65535`},
		{"out of range", "--port=65536", `--port is "65536", want a whole number from 0 to 65535`},
		{"by its short name", "-nx", `--nodes is "x", want a whole number`},
		{"no unit", "--for=5", `--for is "5", want a time with its unit, such as 30s or 5m`},
		{"several", "--rtt=5ms,1", `--rtt is "5ms,1", want times with their unit, such as 5ms,1s`},
		{"yes", "--yes=7", `--yes is "7", want true or false`},
		{"a flag that there is not", "--prot=1", "unknown flag: --prot"},
		{"a type of one's own", "--ip=1", `invalid argument "1" for "--ip" flag: failed to parse IP: "1"`},
	} {
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		flags.SetOutput(io.Discard)
		flags.Uint16("port", 0, "")
		flags.IntP("nodes", "n", 0, "")
		flags.Duration("for", 0, "")
		flags.DurationSlice("rtt", []time.Duration{}, "")
		flags.Bool("yes", false, "")
		flags.IP("ip", nil, "")
		err := flags.Parse([]string{test.given})
		if err == nil || flagerror.Plain(err).Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.reason, flagerror.Plain(err), test.want)
		}
	}
}
