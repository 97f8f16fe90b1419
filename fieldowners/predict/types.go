package predict

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/schema"

	"coapply.dev/fieldowners"
)

// metadataTypes returns the types of ObjectMeta, which all kinds share, as the fields of an
// owner of some of everything.
var metadataTypes = sync.OnceValue(func() *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, path := range []string{
		".metadata.annotations.a", ".metadata.labels.a", `.metadata.finalizers[="a"]`, `.metadata.ownerReferences[uid="a"]`,
	} {
		set.Insert(fieldowners.MustParsePath(path).FieldPath())
	}
	return set
})

// learn derives the types from the managed fields.
func (q *question) learn() {
	q.root.learn(metadataTypes(), false)
	q.root.field("metadata").field("ownerReferences").items().atomic = true
	for _, entry := range q.entries {
		q.root.learn(entry.Set(), entry.Operation == q.us.Operation)
	}
	if group, _, _ := strings.Cut(q.version, "/"); !strings.Contains(group, ".") {
		q.root.defaultProtocols()
	}
	check := func(p *fieldType, _ fieldpath.Path, items []any) {
		for _, item := range items {
			if _, ok := p.nameOf(item); p.named && !ok {
				p.unnameable = true
			}
		}
	}
	q.root.lists(q.live, nil, check)
	q.root.lists(q.intent, nil, check)
	q.root.lists(q.live, nil, func(p *fieldType, at fieldpath.Path, items []any) {
		p.whole = p.whole || !p.named && len(items) > 0 && q.ownedAt(at)
	})
}

// defaultProtocols sets the only default that built-in kinds have for a key field: the protocol
// of ports. The group of a custom resource has a dot.
func (p *fieldType) defaultProtocols() {
	fields := p.naming.Fields
	if slices.Equal(fields, []string{"containerPort", "protocol"}) || slices.Equal(fields, []string{"port", "protocol"}) {
		p.defaults = map[string]any{"protocol": "TCP"}
	}
	for _, field := range p.fields {
		field.defaultProtocols()
	}
	if p.item != nil {
		p.item.defaultProtocols()
	}
}

// open reports whether a map can be one field or many, because nobody owns a part of it.
func (p *fieldType) open() bool { return p.isMap && !p.granular && !p.atomic }

// typeRef returns the type for structured-merge-diff, with open maps read in one of the two
// ways. A list whose items nobody owns is one field; doubtLists covers the cases in which that
// matters.
func (p *fieldType) typeRef(openIsAtomic bool) schema.TypeRef {
	var atom schema.Atom
	if p.scalar || !p.isMap && !p.list {
		anything := schema.Untyped
		atom.Scalar = &anything
	}
	if p.isMap {
		atom.Map = &schema.Map{ElementRelationship: schema.Separable}
		if p.atomic || openIsAtomic && p.open() {
			atom.Map.ElementRelationship = schema.Atomic
		}
		for _, name := range slices.Sorted(maps.Keys(p.fields)) {
			atom.Map.Fields = append(atom.Map.Fields, schema.StructField{Name: name, Type: p.fields[name].typeRef(openIsAtomic)})
		}
	}
	if p.list {
		atom.List = &schema.List{ElementRelationship: schema.Atomic, ElementType: p.items().typeRef(openIsAtomic)}
		switch {
		case p.merged:
			atom.List.ElementRelationship = schema.Associative
		case p.hasItems():
			atom.List.ElementRelationship = schema.Associative
			atom.List.Keys = p.naming.Fields
			p.setKeyDefaults(atom.List.ElementType)
		}
	}
	return schema.TypeRef{Inlined: atom}
}

// setKeyDefaults sets the defaults of key fields in the type of the items.
func (p *fieldType) setKeyDefaults(items schema.TypeRef) {
	if items.Inlined.Map == nil {
		return
	}
	for i := range items.Inlined.Map.Fields {
		field := &items.Inlined.Map.Fields[i]
		field.Default = p.defaults[field.Name]
	}
}
