package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"coapply.dev/fieldowners/contract"
)

// kind describes a kind of the platform, as read from its CRD.
type kind struct {
	schema.GroupKind

	file             string // name of the file of the CRD in config/crd
	singular, plural string
	namespaced       bool
	scale            bool
}

type kinds []kind

// readKinds returns the kinds of all CRDs in config/crd, sorted by the names of the files.
func readKinds(root string) (kinds, error) {
	files, err := filepath.Glob(filepath.Join(root, "config", "crd", "*_*.yaml"))
	if err != nil {
		return nil, err
	}
	var all kinds
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(content, &crd); err != nil {
			return nil, fmt.Errorf("parsing the CRD %s: %w", file, err)
		}
		names, subresources := crd.Spec.Names, crd.Spec.Versions[0].Subresources
		all = append(all, kind{
			GroupKind: schema.GroupKind{Group: crd.Spec.Group, Kind: names.Kind},
			file:      filepath.Base(file), singular: names.Singular, plural: names.Plural,
			namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
			scale:      subresources != nil && subresources.Scale != nil,
		})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there are no CRDs in the folder %s", filepath.Join(root, "config", "crd"))
	}
	return all, nil
}

// resourceOf returns the plural resource name of a kind. For a kind without a CRD in config/crd, the name is guessed.
func (k kinds) resourceOf(of schema.GroupKind) string {
	if i := slices.IndexFunc(k, func(ours kind) bool { return ours.GroupKind == of }); i >= 0 {
		return k[i].plural
	}
	guessed, _ := meta.UnsafeGuessKindToResource(of.WithVersion(""))
	return guessed.Resource
}

// resources returns the plural resource names of all kinds in the contract.
func (k kinds) resources(claims contract.Contract) map[schema.GroupKind]string {
	all := map[schema.GroupKind]string{}
	for _, claim := range claims {
		all[claim.Kind] = k.resourceOf(claim.Kind)
	}
	return all
}
