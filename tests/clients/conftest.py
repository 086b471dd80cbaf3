from __future__ import annotations

import re
from collections.abc import Iterator

import attrs
import pytest

from tests.clients.cluster import Kubectl, running_cluster

MACHINES = """
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  role: nodes
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {consolidateAfter: Never}  # nodes stay where the tests have found them
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
"""


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A cluster that lives, with a pool of machines, for all tests of a worker: each has a namespace in it."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "machines.yaml").write_text(MACHINES)
    with running_cluster(folder, "-f", "machines.yaml") as kubectl:
        yield kubectl


@pytest.fixture
def kubectl(cluster: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """kubectl in a namespace of the test's own."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:60].strip("-")
    cluster(f"create namespace {name}")
    yield attrs.evolve(cluster, namespace=name)
    cluster(f"delete namespace {name} --wait=false")
