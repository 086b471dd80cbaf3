"""A second kube-scheduler, written from the documentation alone: for one pod and one cluster, which nodes would do.

It works on the raw manifests, asks every question anew for every node, and shares nothing with the one that it checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

Json = Mapping[str, Any]

_UNITS = {"m": Fraction(1, 1000), "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "k": 1000, "M": 10**6, "G": 10**9}


def amount(text: str) -> Fraction:
    for unit, factor in _UNITS.items():
        if text.endswith(unit):
            return Fraction(text.removesuffix(unit)) * factor
    return Fraction(text)


def feasible(nodes: list[Json], pods: list[Json], pod: Json, namespaces: Mapping[str, Mapping[str, str]]) -> set[str]:
    """The names of the nodes where the pod may run."""
    cluster = Cluster(nodes, pods, namespaces)
    return {node["metadata"]["name"] for node in nodes if cluster.admits(node, pod)}


class Cluster:
    def __init__(self, nodes: list[Json], pods: list[Json], namespaces: Mapping[str, Mapping[str, str]]) -> None:
        self.nodes = nodes
        self.pods = pods
        self.namespaces = namespaces

    def admits(self, node: Json, pod: Json) -> bool:
        return (
            self.is_open(node, pod)
            and bears_taints(node, pod, ("NoSchedule", "NoExecute"))
            and likes_node(node, pod)
            and self.has_ports(node, pod)
            and self.has_room(node, pod)
            and self.is_even(node, pod)
            and self.has_company(node, pod)
            and self.avoids_company(node, pod)
            and self.is_avoided(node, pod)
        )

    def on(self, node: Json) -> Iterable[Json]:
        return (each for each in self.pods if each["spec"]["nodeName"] == node["metadata"]["name"])

    @staticmethod
    def is_open(node: Json, pod: Json) -> bool:
        cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        return not node["spec"].get("unschedulable") or tolerated(cordon, pod)

    def has_ports(self, node: Json, pod: Json) -> bool:
        wanted, used = set(ports(pod)), {port for each in self.on(node) for port in ports(each)}
        return not any(
            protocol == other_protocol and port == other_port and ("0.0.0.0" in (ip, other_ip) or ip == other_ip)
            for ip, protocol, port in wanted
            for other_ip, other_protocol, other_port in used
        )

    def has_room(self, node: Json, pod: Json) -> bool:
        room = node["status"]["allocatable"]
        others = list(self.on(node))
        if len(others) + 1 > amount(room.get("pods", "0")):
            return False
        for resource, wanted in requests(pod).items():
            used = sum((requests(each).get(resource, Fraction(0)) for each in others), Fraction(0))
            if wanted and wanted > amount(room.get(resource, "0")) - used:
                return False
        return True

    def is_even(self, node: Json, pod: Json) -> bool:
        hard = [
            each
            for each in pod["spec"].get("topologySpreadConstraints", ())
            if each["whenUnsatisfiable"] == "DoNotSchedule"
        ]
        if any(each["topologyKey"] not in node["metadata"]["labels"] for each in hard):
            return False
        return all(self.is_even_by(each, hard, node, pod) for each in hard)

    def is_even_by(self, constraint: Json, hard: list[Json], node: Json, pod: Json) -> bool:
        key, selector = constraint["topologyKey"], spread_selector(constraint, pod)
        domains: dict[str, int] = {}
        for other in self.nodes:
            if any(each["topologyKey"] not in other["metadata"]["labels"] for each in hard):
                continue
            if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not likes_node(other, pod):
                continue
            strict = constraint.get("nodeTaintsPolicy", "Ignore") == "Honor"
            if strict and not bears_taints(other, pod, ("NoSchedule", "NoExecute")):
                continue
            counted = sum(
                1
                for each in self.on(other)
                if each["metadata"]["namespace"] == pod["metadata"]["namespace"]
                and "deletionTimestamp" not in each["metadata"]
                and selects(selector, each["metadata"]["labels"])
            )
            value = other["metadata"]["labels"][key]
            domains[value] = domains.get(value, 0) + counted
        if not domains:
            return True
        least = 0 if len(domains) < constraint.get("minDomains", 1) else min(domains.values())
        own = 1 if selects(selector, pod["metadata"]["labels"]) else 0
        return domains.get(node["metadata"]["labels"][key], 0) + own - least <= constraint["maxSkew"]

    def has_company(self, node: Json, pod: Json) -> bool:
        terms = pod_terms(pod, "podAffinity")
        if not terms:
            return True
        if any(term["topologyKey"] not in node["metadata"]["labels"] for term in terms):
            return False
        liked = [each for each in self.pods if all(self.term_matches(term, pod, each) for term in terms)]
        homes = [(each, self.home(each)) for each in liked]
        if all(any(shares(term, node, home) for _, home in homes if home) for term in terms):
            return True
        somewhere = any(home and has_key(term, home) for _, home in homes for term in terms)
        return not somewhere and all(self.term_matches(term, pod, pod) for term in terms)

    def avoids_company(self, node: Json, pod: Json) -> bool:
        return not any(
            self.term_matches(term, pod, each) and (home := self.home(each)) and shares(term, node, home)
            for term in pod_terms(pod, "podAntiAffinity")
            for each in self.pods
        )

    def is_avoided(self, node: Json, pod: Json) -> bool:
        return not any(
            self.term_matches(term, each, pod) and (home := self.home(each)) and shares(term, node, home)
            for each in self.pods
            for term in pod_terms(each, "podAntiAffinity")
        )

    def home(self, pod: Json) -> Json | None:
        return next((each for each in self.nodes if each["metadata"]["name"] == pod["spec"]["nodeName"]), None)

    def term_matches(self, term: Json, owner: Json, other: Json) -> bool:
        """Whether the term of one pod speaks of another."""
        space = other["metadata"]["namespace"]
        spaces = set(term.get("namespaces", ()))
        chosen = term.get("namespaceSelector")
        if chosen is None and not spaces:
            spaces = {owner["metadata"]["namespace"]}
        if space not in spaces and (chosen is None or not selects(chosen, self.namespaces.get(space, {}))):
            return False
        selector = term.get("labelSelector")
        if selector is None:
            return False
        own, labels = owner["metadata"]["labels"], other["metadata"]["labels"]
        same = (key for key in term.get("matchLabelKeys", ()) if key in own)
        differ = (key for key in term.get("mismatchLabelKeys", ()) if key in own)
        return (
            selects(selector, labels)
            and all(labels.get(key) == own[key] for key in same)
            and all(labels.get(key) != own[key] for key in differ)
        )


def has_key(term: Json, node: Json) -> bool:
    return term["topologyKey"] in node["metadata"]["labels"]


def shares(term: Json, node: Json, other: Json) -> bool:
    key = term["topologyKey"]
    return has_key(term, node) and node["metadata"]["labels"][key] == other["metadata"]["labels"].get(key)


def tolerated(taint: Json, pod: Json) -> bool:
    for each in pod["spec"].get("tolerations", ()):
        if each.get("effect") and each["effect"] != taint["effect"]:
            continue
        if each.get("operator") == "Exists":
            if not each.get("key") or each["key"] == taint["key"]:
                return True
        elif each.get("key") == taint["key"] and each.get("value", "") == taint.get("value", ""):
            return True
    return False


def bears_taints(node: Json, pod: Json, effects: tuple[str, ...]) -> bool:
    return all(taint["effect"] not in effects or tolerated(taint, pod) for taint in node["spec"].get("taints", ()))


def likes_node(node: Json, pod: Json) -> bool:
    labels, name = node["metadata"]["labels"], node["metadata"]["name"]
    if any(labels.get(key) != value for key, value in pod["spec"].get("nodeSelector", {}).items()):
        return False
    required = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = required.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms")
    if terms is None:
        return True
    for term in terms:
        expressions, fields = term.get("matchExpressions", ()), term.get("matchFields", ())
        if not expressions and not fields:
            continue
        if all(holds(each, labels) for each in expressions) and all(
            holds(each, {"metadata.name": name}) for each in fields
        ):
            return True
    return False


def holds(expression: Json, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values", ())
    match expression["operator"]:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.isdecimal() and int(value) > int(values[0])
        case "Lt":
            return value is not None and value.isdecimal() and int(value) < int(values[0])
    raise AssertionError(expression)


def selects(selector: Json, labels: Mapping[str, str]) -> bool:
    exact = selector.get("matchLabels", {})
    return all(labels.get(key) == value for key, value in exact.items()) and all(
        holds(each, labels) for each in selector.get("matchExpressions", ())
    )


def spread_selector(constraint: Json, pod: Json) -> Json:
    own = pod["metadata"]["labels"]
    selector = constraint["labelSelector"]
    keys = {key: own[key] for key in constraint.get("matchLabelKeys", ()) if key in own}
    return {**selector, "matchLabels": {**selector.get("matchLabels", {}), **keys}}


def pod_terms(pod: Json, kind: str) -> list[Json]:
    found = pod["spec"].get("affinity", {}).get(kind, {})
    return list(found.get("requiredDuringSchedulingIgnoredDuringExecution", ()))


def ports(pod: Json) -> Iterable[tuple[str, str, int]]:
    for container in pod["spec"]["containers"]:
        for port in container.get("ports", ()):
            if port.get("hostPort"):
                yield port.get("hostIP") or "0.0.0.0", port.get("protocol", "TCP"), port["hostPort"]


def requests(pod: Json) -> dict[str, Fraction]:
    """The sum over containers, or what a start step needs if that is more."""
    total: dict[str, Fraction] = {}
    for container in pod["spec"]["containers"]:
        for name, text in container.get("resources", {}).get("requests", {}).items():
            total[name] = total.get(name, Fraction(0)) + amount(text)
    beside: dict[str, Fraction] = {}
    highest: dict[str, Fraction] = {}
    for container in pod["spec"].get("initContainers", ()):
        own = {name: amount(text) for name, text in container.get("resources", {}).get("requests", {}).items()}
        stays = container.get("restartPolicy") == "Always"
        for name in {*own, *beside}:
            step = beside.get(name, Fraction(0)) + own.get(name, Fraction(0))
            highest[name] = max(highest.get(name, Fraction(0)), step)
            if stays:
                beside[name] = step
    for name in {*total, *beside, *highest}:
        total[name] = max(total.get(name, Fraction(0)) + beside.get(name, Fraction(0)), highest.get(name, Fraction(0)))
    for name, text in pod["spec"].get("overhead", {}).items():
        total[name] = total.get(name, Fraction(0)) + amount(text)
    return total
