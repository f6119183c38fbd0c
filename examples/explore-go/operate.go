package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

type operator struct {
	// The Route of this name has changed, or is gone.
	reconcile func(ctx context.Context, c *cluster, name string) error
	// The name of what an informer shows.
	nameOf func(shown any) (name string, ok bool)
}

// operate calls reconcile for each Route that changes, one after the other; again when it failed.
func (o operator) operate(ctx context.Context, c *cluster) error {
	queue := workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, time.Second))
	defer queue.ShutDown()
	enqueue := func(shown any) {
		if name, ok := o.nameOf(shown); ok {
			queue.Add(name)
		}
	}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.dynamic, 0, namespace, nil)
	informer := factory.ForResource(routes).Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, shown any) { enqueue(shown) },
		DeleteFunc: enqueue,
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("the informer never had all Routes")
	}
	// Routes that went while the operator was away are in the table, and no event tells of them.
	queue.Add("")
	go func() {
		<-ctx.Done()
		queue.ShutDown()
	}()
	for {
		name, isOver := queue.Get()
		if isOver {
			return nil
		}
		if err := o.reconcile(ctx, c, name); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			queue.AddRateLimited(name)
		} else {
			queue.Forget(name)
		}
		queue.Done(name)
	}
}
