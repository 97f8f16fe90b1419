package ownerpage

import (
	"io"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// Shown is an object and what of it was asked for.
type Shown struct {
	*ownerview.Object

	Filter ownerview.Filter
}

type objectsData struct {
	head

	Objects []section
}

// Objects writes a page of objects, with a table of contents if there are several.
func Objects(w io.Writer, about About, objects []Shown) error {
	data := objectsData{head: head{About: about, Kicker: "Who owns which field", Title: plural(len(objects), "object")}}
	var known badges
	for i, o := range objects {
		data.Objects = append(data.Objects, newSection(&known, about, i+1, o))
	}
	if len(objects) == 1 {
		data.Title, data.Objects[0].Sole = data.Objects[0].Name, true
	}
	return write(w, objectsTemplate, data)
}
