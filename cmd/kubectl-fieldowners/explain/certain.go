package explain

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coapply.dev/fieldowners"
)

// certainPath returns the path for the API server's text if that has only one meaning in any
// object, and else the root: a dot may separate two fields or be part of a map key, so below a possible map there
// can be one name at most.
func certainPath(serverPath string) fieldowners.Path {
	path := ""
	for rest, at := serverPath, ""; rest != ""; at = serverPath[:len(serverPath)-len(rest)] {
		if item := itemName.FindString(rest); item != "" {
			path, rest = path+item, rest[len(item):]
			continue
		}
		name, ok := certainName(at, rest)
		if !ok {
			return fieldowners.Path{}
		}
		path, rest = path+"["+strconv.Quote(name)+"]", rest[1+len(name):]
	}
	certain, _ := fieldowners.ParsePath(path) // the root if the text is malformed
	return certain
}

// itemName matches the name of a list item, by its keys, value or index.
var itemName = regexp.MustCompile(`^\[[^"\]](?:"(?:[^"\\]|\\.)*"|[^"\]])*\]`)

// identifier matches the name of a field of a struct.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$-]*$`)

// certainName returns the name with which rest begins, below what the server calls at.
func certainName(at, rest string) (name string, ok bool) {
	rest, ok = strings.CutPrefix(rest, ".")
	if !ok || rest == "" {
		return "", false
	}
	if isMapOfScalars(at) {
		return rest, true
	}
	name, _, _ = strings.Cut(rest, "[")
	first, _, several := strings.Cut(name, ".")
	if isStruct(at) {
		return first, identifier.MatchString(first)
	}
	return name, !several && name != ""
}

// metadataOf are the places of metadata: the object's own, and those of templates in it.
var metadataOf = []string{".metadata", ".spec.template.metadata", ".spec.jobTemplate.metadata", ".spec.jobTemplate.spec.template.metadata"}

// isStruct reports whether the value at a path is a struct, not a map, in every object.
func isStruct(at string) bool {
	switch at {
	case "", ".spec", ".status", ".spec.template", ".spec.template.spec",
		".spec.jobTemplate", ".spec.jobTemplate.spec", ".spec.jobTemplate.spec.template", ".spec.jobTemplate.spec.template.spec":
		return true
	}
	isItem := strings.HasSuffix(at, "]") // which has the fields that it is known by
	return isItem || slices.Contains(metadataOf, at)
}

// isMapOfScalars reports whether the value at a path is a map of scalars in every object.
func isMapOfScalars(at string) bool {
	return slices.ContainsFunc(metadataOf, func(m string) bool { return at == m+".labels" || at == m+".annotations" })
}
