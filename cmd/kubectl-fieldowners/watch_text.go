package main

import (
	"fmt"
	"strings"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// text gives the event as a line for people.
func (e watchEvent) text() string {
	line := e.Time.Format(time.RFC3339) + " " + e.object
	path := ownerview.Safe(e.Path)
	switch e.Type {
	case "moved":
		line += " " + path + ": " + e.From.String() + " -> " + e.To.String()
	case "lost":
		line += " " + path + ": lost by " + e.From.String()
	case "gained":
		line += " " + path + ": gained by " + e.To.String()
	case "created", "entered":
		line += ": " + e.Type + ", owned by " + watchedOwners(e.Managers, ", ")
	case "fight":
		return fmt.Sprintf("%s FIGHT %s %s: %s took it from each other %d times in a minute, since %s",
			e.Time.Format(time.RFC3339), e.object, path, watchedOwners(e.Managers, " and "), e.Times, e.Since.Format(time.RFC3339))
	default:
		line += ": " + e.Type
	}
	if e.Sum {
		line += " (sum over the interruption)"
	}
	return line
}

func watchedOwners(owners []ownerview.OwnerItem, separator string) string {
	if len(owners) == 0 {
		return "nobody"
	}
	var texts []string
	for _, o := range owners {
		texts = append(texts, o.String())
	}
	return strings.Join(texts, separator)
}
