package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// reconcile survives every plan.
func reconcile(ctx context.Context, c *cluster, name string) error {
	if err := c.writeTable(ctx); err != nil {
		return err
	}
	route, err := c.route(ctx, name)
	if route == nil || err != nil {
		return err
	}
	token := name + "-token"
	if _, err := c.createToken(ctx, route, metav1.ObjectMeta{Name: token}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return c.setStatus(ctx, route, token)
}

// nameOf knows tombstones: what an informer shows of an object whose deletion it has not seen.
func nameOf(shown any) (string, bool) {
	key, err := cache.DeletionHandlingObjectToName(shown)
	return key.Name, err == nil
}
