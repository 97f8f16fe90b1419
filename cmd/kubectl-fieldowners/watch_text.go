package main

import (
	"fmt"
	"strings"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// text returns the event as a line for people.
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
		return fmt.Sprintf("%s FIGHT %s %s: %s, since %s",
			e.Time.Format(time.RFC3339), e.object, path, ownerview.Safe(e.message), e.Since.Format(time.RFC3339))
	case "loop":
		return fmt.Sprintf("%s LOOP %s: %s", e.Time.Format(time.RFC3339), e.object, ownerview.Safe(e.message))
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
