"""The operator on a real API server, with the controllers, the scheduler and the node that make pods of a Deployment."""

import time
from collections.abc import Callable
from typing import TypeVar

import pytest
from lightkube import ApiError, Client
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import PatchType

from site_operator import DIRECTORY, Site

T = TypeVar("T")


def eventually(look: Callable[[], T], within_seconds: float = 20) -> T:
    """What `look` returns, once it raises neither an AssertionError nor a 404."""
    deadline = time.monotonic() + within_seconds
    while True:
        try:
            return look()
        except (AssertionError, ApiError) as error:
            is_final = isinstance(error, ApiError) and error.status.code != 404
            if is_final or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def is_gone(client: Client, kind: type, name: str, namespace: str) -> bool:
    try:
        client.get(kind, name, namespace=namespace)
    except ApiError as error:
        return error.status.code == 404
    return False


@pytest.fixture
def site(client: Client, namespace: str) -> Site:
    spec = {"image": "nginx:1.29", "replicas": 2}
    return client.create(Site(metadata={"name": "blog", "namespace": namespace}, spec=spec))


def test_a_site_gets_a_deployment_that_it_owns(client: Client, site: Site, namespace: str) -> None:
    deployment = eventually(lambda: client.get(Deployment, "blog", namespace=namespace))
    assert deployment.spec.replicas == 2
    assert deployment.spec.template.spec.containers[0].image == "nginx:1.29"
    [owner] = deployment.metadata.ownerReferences
    assert (owner.kind, owner.uid, owner.controller) == ("Site", site.metadata.uid, True)


def test_its_status_follows_its_pods(client: Client, site: Site, namespace: str) -> None:
    def is_available() -> None:
        status = client.get(Site, "blog", namespace=namespace).status or {}
        [condition] = status.get("conditions") or [{}]
        assert condition.get("status") == "True", condition
        assert condition["message"] == "2 of 2 pods are ready"
        assert status["readyReplicas"] == 2

    eventually(is_available)


def test_a_new_image_is_rolled_out(client: Client, site: Site, namespace: str) -> None:
    eventually(lambda: client.get(Deployment, "blog", namespace=namespace))
    client.patch(Site, "blog", {"spec": {"image": "nginx:1.30"}}, namespace=namespace, patch_type=PatchType.MERGE)

    def has_image() -> None:
        deployment = client.get(Deployment, "blog", namespace=namespace)
        assert deployment.spec.template.spec.containers[0].image == "nginx:1.30"
        assert client.get(ConfigMap, DIRECTORY, namespace=namespace).data == {"blog": "nginx:1.30"}

    eventually(has_image)


def test_a_deployment_that_someone_deletes_is_replaced(client: Client, site: Site, namespace: str) -> None:
    first = eventually(lambda: client.get(Deployment, "blog", namespace=namespace))
    client.delete(Deployment, "blog", namespace=namespace)

    def is_another() -> None:
        assert client.get(Deployment, "blog", namespace=namespace).metadata.uid != first.metadata.uid

    eventually(is_another)


def test_a_site_leaves_the_directory_and_takes_its_deployment_with_it(
    client: Client, site: Site, namespace: str
) -> None:
    def is_listed() -> None:
        assert client.get(ConfigMap, DIRECTORY, namespace=namespace).data == {"blog": "nginx:1.29"}

    eventually(is_listed)
    eventually(lambda: client.get(Deployment, "blog", namespace=namespace))
    client.delete(Site, "blog", namespace=namespace)

    def nothing_is_left() -> None:
        assert is_gone(client, Site, "blog", namespace)
        assert is_gone(client, Deployment, "blog", namespace)

    eventually(nothing_is_left)
    assert not client.get(ConfigMap, DIRECTORY, namespace=namespace).data


def test_an_image_without_a_tag_is_reported(client: Client, namespace: str) -> None:
    client.create(Site(metadata={"name": "blog", "namespace": namespace}, spec={"image": "nginx"}))

    def is_reported() -> None:
        status = client.get(Site, "blog", namespace=namespace).status or {}
        [condition] = status.get("conditions") or [{}]
        assert (condition.get("status"), condition.get("reason")) == ("False", "InvalidImage")
        assert condition["message"] == 'spec.image "nginx" has no tag: name a version, such as nginx:1.29'

    eventually(is_reported)
    assert is_gone(client, Deployment, "blog", namespace)


def test_a_site_without_an_image_is_rejected(client: Client, namespace: str) -> None:
    with pytest.raises(ApiError, match="spec.image"):
        client.create(Site(metadata={"name": "blog", "namespace": namespace}, spec={}))
