package main

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

const (
	namespace = "default"
	table     = "table"
)

var routes = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "routes"}

// cluster is what the operators read and write.
type cluster struct {
	core    typed.CoreV1Interface
	dynamic dynamic.Interface
}

func newCluster(config *rest.Config) (*cluster, error) {
	core, err := typed.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfig(config)
	return &cluster{core, dyn}, err
}

// route gives nil for a Route that is gone.
func (c *cluster) route(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	if name == "" {
		return nil, nil
	}
	route, err := c.dynamic.Resource(routes).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return route, err
}

// writeTable writes where each Route leads, unless the table says so.
func (c *cluster) writeTable(ctx context.Context) error {
	list, err := c.dynamic.Resource(routes).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	data := map[string]string{}
	for _, one := range list.Items {
		data[one.GetName()], _, _ = unstructured.NestedString(one.Object, "spec", "backend")
	}
	written, err := c.core.ConfigMaps(namespace).Get(ctx, table, metav1.GetOptions{})
	if err != nil || maps.Equal(written.Data, data) {
		return err
	}
	written.Data = data
	_, err = c.core.ConfigMaps(namespace).Update(ctx, written, metav1.UpdateOptions{})
	return err
}

// createToken creates the Secret with this metadata, which goes with the Route.
func (c *cluster) createToken(
	ctx context.Context, route *unstructured.Unstructured, meta metav1.ObjectMeta,
) (*corev1.Secret, error) {
	isController := true
	meta.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "example.com/v1", Kind: "Route", Name: route.GetName(), UID: route.GetUID(), Controller: &isController,
	}}
	secret := &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"for": route.GetName()}}
	return c.core.Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{})
}

func tokenOf(route *unstructured.Unstructured) string {
	token, _, _ := unstructured.NestedString(route.Object, "status", "token")
	return token
}

// setStatus writes the name of the Route's token into its status, unless it is there.
func (c *cluster) setStatus(ctx context.Context, route *unstructured.Unstructured, token string) error {
	if tokenOf(route) == token {
		return nil
	}
	changed := route.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, token, "status", "token"); err != nil {
		return err
	}
	_, err := c.dynamic.Resource(routes).Namespace(namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}
