package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Bug: it takes a conflict for a sign that it will be called again. It is, for a Route; the table is not one.
func reconcileOnce(ctx context.Context, c *cluster, name string) error {
	err := reconcile(ctx, c, name)
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}
