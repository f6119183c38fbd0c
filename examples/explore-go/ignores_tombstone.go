package main

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Bug: it takes every object that an informer shows for a Route. One whose deletion the informer has not seen is a
// cache.DeletedFinalStateUnknown.
func nameOfRoute(shown any) (string, bool) {
	route, ok := shown.(*unstructured.Unstructured)
	if !ok {
		return "", false
	}
	return route.GetName(), true
}
