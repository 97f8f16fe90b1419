package command_test

import (
	"fmt"
	"strings"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/command"
)

func ExampleMigrate() {
	replicas, err := fieldowners.ParsePath(".spec.replicas")
	if err != nil {
		panic(err)
	}
	web := command.Subject{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	line := command.Migrate("kubectl edit", "shop-web", replicas)
	fmt.Println(strings.Replace(line, command.Placeholder, web.Target(), 1))
	// Output:
	// kubectl fieldowners migrate deployment.apps/web --namespace shop --from 'kubectl edit' --to shop-web --path .spec.replicas
}
