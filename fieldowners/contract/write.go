package contract

import (
	"cmp"
	"io"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// The keys of a contract in YAML.
const (
	wordManagers = "managers"
	wordShared   = "shared"
	wordSelector = "selector"
)

var words = map[metav1.ManagedFieldsOperationType]string{
	metav1.ManagedFieldsOperationApply:  "applies",
	metav1.ManagedFieldsOperationUpdate: "updates",
}

// Write writes a contract as YAML, sorted by manager, kind and path. It returns the error of
// Check.
func Write(w io.Writer, c Contract) error {
	if err := Check(c); err != nil {
		return err
	}
	managers := mapping()
	for _, manager := range c.Managers() {
		kinds := mapping()
		claims := c.Of(manager)
		slices.SortFunc(claims, func(a, b Claim) int {
			return cmp.Or(cmp.Compare(a.Kind.Group, b.Kind.Group), cmp.Compare(a.Kind.Kind, b.Kind.Kind))
		})
		for _, claim := range claims {
			put(kinds, claim.Kind.String(), claimNode(claim))
		}
		put(managers, manager, kinds)
	}
	document := mapping()
	put(document, wordManagers, managers)
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(document); err != nil {
		return err
	}
	return encoder.Close()
}

func claimNode(claim Claim) *yaml.Node {
	node := mapping()
	for _, operation := range operations {
		if paths := claim.paths(operation); len(paths) > 0 {
			put(node, words[operation], sequence(sorted(paths)))
		}
	}
	if len(claim.Shared) > 0 {
		shared := mapping()
		for _, path := range sorted(slices.Collect(maps.Keys(claim.Shared))) {
			put(shared, path, text(claim.Shared[path]))
		}
		put(node, wordShared, shared)
	}
	if claim.Selector != "" {
		put(node, wordSelector, text(claim.Selector))
	}
	return node
}

// sorted returns paths in the order of fieldowners.Path.Compare.
func sorted(paths []string) []string {
	return slices.SortedFunc(slices.Values(paths), func(a, b string) int {
		return fieldowners.MustParsePath(a).Compare(fieldowners.MustParsePath(b)) // Check has parsed them
	})
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

func put(mapping *yaml.Node, key string, value *yaml.Node) {
	mapping.Content = append(mapping.Content, text(key), value)
}

func sequence(items []string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.SequenceNode}
	for _, item := range items {
		node.Content = append(node.Content, text(item))
	}
	return node
}

func text(value string) *yaml.Node {
	node := &yaml.Node{}
	node.SetString(value)
	return node
}
