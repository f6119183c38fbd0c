"""Keeps a Deployment for each Site, and lists it in the ConfigMap `sites` of its namespace.

The ConfigMap belongs to no Site, so that no garbage collector can keep it: a finalizer takes a Site out of it.
"""

from contextlib import contextmanager
from datetime import UTC, datetime

import kopf
from lightkube import ApiError, Client
from lightkube.codecs import from_dict
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import PatchType

Site = create_namespaced_resource("web.example.com", "v1", "Site", "sites")
SITES = "sites.web.example.com"
LABEL = "web.example.com/site"
DIRECTORY = "sites"


@kopf.on.startup()
def start(settings: kopf.OperatorSettings, memo: kopf.Memo, **_) -> None:
    settings.persistence.finalizer = "web.example.com/directory"
    memo.client = Client(field_manager="site-operator")


@kopf.on.login()
def log_in(**kwargs) -> kopf.ConnectionInfo | None:
    return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)


@kopf.on.resume(SITES)
@kopf.on.create(SITES)
@kopf.on.update(SITES)
def serve(name: str, namespace: str, spec: kopf.Spec, memo: kopf.Memo, **_) -> None:
    if fault_of(spec["image"]) is None:
        memo.client.apply(entry_of(name, namespace, spec["image"]), field_manager=f"site-{name}")
    reconcile(memo.client, name, namespace)


@kopf.on.event("apps", "v1", "deployments", labels={LABEL: kopf.PRESENT})
def follow(labels: kopf.Labels, namespace: str, memo: kopf.Memo, **_) -> None:
    reconcile(memo.client, labels[LABEL], namespace)


@kopf.timer(SITES, interval=60, initial_delay=60)
def look_again(name: str, namespace: str, memo: kopf.Memo, **_) -> None:
    """kopf does not retry handlers of events, so what `follow` failed to do is done here."""
    reconcile(memo.client, name, namespace)


@kopf.on.delete(SITES)
def leave(name: str, namespace: str, memo: kopf.Memo, **_) -> None:
    """Runs before the Site goes: kopf keeps a finalizer on it until then."""
    with unless_gone():
        memo.client.patch(
            ConfigMap, DIRECTORY, {"data": {name: None}}, namespace=namespace, patch_type=PatchType.MERGE
        )


def reconcile(client: Client, name: str, namespace: str) -> None:
    """Brings the Deployment to what the newest Site asks for, and the Site's status to what the Deployment is."""
    with unless_gone():
        site = client.get(Site, name, namespace=namespace)
        if site.metadata.deletionTimestamp is not None:
            return
        fault = fault_of(site.spec["image"])
        if fault is not None:
            return report(client, site, {"status": "False", "reason": "InvalidImage", "message": fault})
        deployment = client.apply(deployment_of(site), force=True)
        wanted, ready = site.spec["replicas"], (deployment.status and deployment.status.readyReplicas) or 0
        status, reason = ("True", "Ready") if ready >= wanted else ("False", "Starting")
        message = f"{ready} of {wanted} pods are ready"
        report(client, site, {"status": status, "reason": reason, "message": message}, ready)


def report(client: Client, site: Site, condition: dict, ready: int | None = None) -> None:
    """Writes the status. The API server makes a no-op of what has not changed."""
    before = next(iter((site.status or {}).get("conditions", [])), {})
    now = datetime.now(UTC).isoformat(timespec="seconds")
    condition = {
        "type": "Available",
        **condition,
        "observedGeneration": site.metadata.generation,
        "lastTransitionTime": now if before.get("status") != condition["status"] else before["lastTransitionTime"],
    }
    status = {"conditions": [condition], "readyReplicas": ready}
    client.patch(
        Site.Status,
        site.metadata.name,
        {"status": status},
        namespace=site.metadata.namespace,
        patch_type=PatchType.MERGE,
    )


def fault_of(image: str) -> str | None:
    """What is wrong with an image that the schema accepts."""
    if ":" in image.rsplit("/", 1)[-1]:
        return None
    return f'spec.image "{image}" has no tag: name a version, such as {image}:1.29'


def entry_of(name: str, namespace: str, image: str) -> ConfigMap:
    """What one Site applies to the directory: its own key alone."""
    return from_dict(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": DIRECTORY, "namespace": namespace},
            "data": {name: image},
        }
    )


def deployment_of(site: Site) -> Deployment:
    name, labels = site.metadata.name, {LABEL: site.metadata.name}
    owner = kopf.build_owner_reference(site.to_dict(), controller=True, block_owner_deletion=True)
    return from_dict(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": name,
                "namespace": site.metadata.namespace,
                "labels": labels,
                "ownerReferences": [dict(owner)],
            },
            "spec": {
                "replicas": site.spec["replicas"],
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "web", "image": site.spec["image"]}]},
                },
            },
        }
    )


@contextmanager
def unless_gone():
    """What is gone, or goes with its namespace, needs nothing more."""
    try:
        yield
    except ApiError as error:
        if error.status.code != 404:
            raise
