"""A Skiff cluster for the whole run of pytest, with the operator in it, and a namespace for each test."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from kopf.testing import KopfRunner
from lightkube import Client
from lightkube.codecs import load_all_yaml
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.core_v1 import Namespace

HERE = Path(__file__).parent


def skiff(command: str) -> str:
    """Its standard output. Progress and errors go to standard error, which pytest shows with a failure."""
    words = ["npx", "kube-skiff", *command.split()]
    return subprocess.run(words, cwd=HERE, check=True, stdout=subprocess.PIPE, text=True).stdout


@pytest.fixture(scope="session")
def kubeconfig() -> Iterator[str]:
    """The path of the administrator's kubeconfig. The cluster goes with this process, however that ends."""
    pid = os.getpid()
    up = skiff(f"up --name pytest-{pid} --parent {pid} --ttl 10m --port 0 --nodes 1 --output json")
    with pytest.MonkeyPatch.context() as environment:
        # kopf and lightkube read it when they connect.
        environment.setenv("KUBECONFIG", json.loads(up)["kubeconfig"])
        yield os.environ["KUBECONFIG"]
    skiff(f"down --name pytest-{pid}")


@pytest.fixture(scope="session")
def client(kubeconfig: str) -> Iterator[Client]:
    with Client() as client:
        for definition in load_all_yaml((HERE / "config/site-definition.yaml").read_text()):
            client.apply(definition, field_manager="tests")
            client.wait(CustomResourceDefinition, definition.metadata.name, for_conditions=["Established"])
        yield client


@pytest.fixture(scope="session")
def operator(client: Client) -> Iterator[KopfRunner]:
    """The operator in a thread of this process, so that a killed pytest leaves none."""
    with KopfRunner(["run", "--all-namespaces", "--standalone", str(HERE / "site_operator.py")]) as runner:
        yield runner


@pytest.fixture
def namespace(client: Client, operator: KopfRunner) -> Iterator[str]:
    assert not operator.future.done(), operator.output
    made = client.create(Namespace(metadata=ObjectMeta(generateName="test-")))
    yield made.metadata.name
    client.delete(Namespace, made.metadata.name)
