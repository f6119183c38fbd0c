package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bug: it remembers the generated name of the Secret only after it has made it. Killed in between, or without the answer, it makes another.
func reconcileGenerated(ctx context.Context, c *cluster, name string) error {
	if err := c.writeTable(ctx); err != nil {
		return err
	}
	route, err := c.route(ctx, name)
	if route == nil || err != nil || tokenOf(route) != "" {
		return err
	}
	secret, err := c.createToken(ctx, route, metav1.ObjectMeta{GenerateName: name + "-token-"})
	if err != nil {
		return err
	}
	return c.setStatus(ctx, route, secret.Name)
}
