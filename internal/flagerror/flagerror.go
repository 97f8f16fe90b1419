// Package flagerror replaces the messages of Go's parsers for invalid flag values by messages in plain words.
package flagerror

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// wanted maps each flag type of pflag to a description of its valid values.
var wanted = map[string]string{
	"bool":          "true or false",
	"int":           "a whole number",
	"uint16":        "a whole number from 0 to 65535",
	"uint64":        "a whole number, 0 or more",
	"float64":       "a number",
	"duration":      "a time with its unit, such as 30s or 5m",
	"intSlice":      "whole numbers, such as 1,4",
	"durationSlice": "times with their unit, such as 5ms,1s",
}

// Plain returns an error about an invalid flag value with a message in plain words, and any other error unchanged.
func Plain(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	want, known := wanted[invalid.GetFlag().Value.Type()]
	if !known {
		return err
	}
	return fmt.Errorf("--%s is %q, want %s", invalid.GetFlag().Name, invalid.GetValue(), want)
}
