// Command explore-go keeps a table of all Routes, and a token for each. Its argument chooses the operator: the correct one, or one with a
// bug that only a fault shows.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
)

var operators = map[string]operator{
	"correct":           {reconcile: reconcile, nameOf: nameOf},
	"generated-name":    {reconcile: reconcileGenerated, nameOf: nameOf},
	"ignores-conflict":  {reconcile: reconcileOnce, nameOf: nameOf},
	"ignores-tombstone": {reconcile: reconcile, nameOf: nameOfRoute},
	"status-first":      {reconcile: reconcileStatusFirst, nameOf: nameOf},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	names := make([]string, 0, len(operators))
	for name := range operators {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(args) != 1 || !slices.Contains(names, args[0]) {
		return fmt.Errorf("usage: explore-go OPERATOR, one of %v", names)
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.QPS = -1
	c, err := newCluster(config)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return operators[args[0]].operate(ctx, c)
}
