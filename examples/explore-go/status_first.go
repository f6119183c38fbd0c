package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bug: it says that the token is there before it is. Killed in between, it believes its own status.
func reconcileStatusFirst(ctx context.Context, c *cluster, name string) error {
	if err := c.writeTable(ctx); err != nil {
		return err
	}
	route, err := c.route(ctx, name)
	if route == nil || err != nil || tokenOf(route) != "" {
		return err
	}
	token := name + "-token"
	if err := c.setStatus(ctx, route, token); err != nil {
		return err
	}
	_, err = c.createToken(ctx, route, metav1.ObjectMeta{Name: token})
	return err
}
