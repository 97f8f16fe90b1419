package ignore

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "example.com/operator/src/api/v1"
)

func ignored(ctx context.Context, c client.Client, database *v1.Database) error {
	controllerutil.AddFinalizer(database, "example.com/x")
	//ownlint:ignore wide-update this controller owns all fields
	return c.Update(ctx, database)
}

func noReason(ctx context.Context, c client.Client, database *v1.Database) error {
	controllerutil.AddFinalizer(database, "example.com/x")
	/* want `gives no reason` */   //ownlint:ignore wide-update
	return c.Update(ctx, database) // want `changes only its finalizers`
}

func unknown(ctx context.Context, c client.Client, database *v1.Database) error {
	controllerutil.AddFinalizer(database, "example.com/x")
	/* want `must name a rule, but "wide-updates" is not a rule` */ //ownlint:ignore wide-updates because
	return c.Update(ctx, database)                                  // want `changes only its finalizers`
}
