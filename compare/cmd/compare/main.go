// Command compare measures Server-Side Apply against get-modify-update under contention, and coapply beside other
// libraries. See docs/benchmarking.md.
package main

import (
	"os"

	"coapply.dev/compare/commands"
)

func main() { os.Exit(commands.Main(commands.Catalogue())) }
