package main

import (
	"regexp"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// printedForm is how reports show a manager: with its operation and its subresource.
var printedForm = regexp.MustCompile(`^(.+)/(Apply|Update)(\[[^\]]*\])?$`)

// checkManager refuses what cannot be the name of a field manager.
func checkManager(cmd *cobra.Command, flag, name string) error {
	if name == "" {
		return usageError(cmd, "--%s: the name of a field manager is needed", flag)
	}
	if parts := printedForm.FindStringSubmatch(name); parts != nil {
		return usageError(cmd, "--%s is %s: the operation is no part of the name, write %s", flag, ownerview.Safe(name), ownerview.Safe(parts[1]))
	}
	if invalid := validation.ValidateFieldManager(name, field.NewPath("--"+flag)); len(invalid) > 0 {
		return usageError(cmd, "%w", invalid.ToAggregate())
	}
	return nil
}
