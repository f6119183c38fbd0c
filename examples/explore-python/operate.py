"""Watches mailboxes and reconciles each that changes; again when that failed."""

import sys
import time

from kubernetes.watch import Watch

from cluster import MAILBOXES, custom, list_mailboxes


def until_done(work):
    while True:
        try:
            return work()
        except Exception as error:  # the server or the connection: both come back
            print(f"again: {error}", file=sys.stderr, flush=True)
            time.sleep(0.1)


def watch_from(version, reconcile):
    """Reconciles what the events name. Returns when the watch ends."""
    events = Watch().stream(custom.list_namespaced_custom_object, *MAILBOXES, resource_version=version)
    for event in events:
        name = event["object"]["metadata"]["name"]
        until_done(lambda: reconcile(name))


def reconcile_all(reconcile):
    """The version to watch from."""
    listed = list_mailboxes()
    for one in listed["items"]:
        reconcile(one["metadata"]["name"])
    return listed["metadata"]["resourceVersion"]


def operate(reconcile):
    while True:
        version = until_done(lambda: reconcile_all(reconcile))
        try:
            watch_from(version, reconcile)
        except Exception as error:  # among others 410: then everything is listed again
            print(f"the watch ended: {error}", file=sys.stderr, flush=True)
            time.sleep(0.1)
