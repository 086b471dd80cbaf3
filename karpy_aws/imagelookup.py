"""`ImageLookup`: asks AWS for the images of node classes, and remembers the answers for a while."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from karpy.clock import Clock
from karpy.errors import ProviderError
from karpy_aws.api import EC2API, SSMAPI, items
from karpy_aws.errors import AWSError, ErrorClass
from karpy_aws.imageparameters import ImageParameter, UnsupportedAlias
from karpy_aws.images import choose, is_deprecated, parameters, queries, query_by_id, suited
from karpy_aws.objects.nodeclass import NodeClass
from karpy_aws.objects.status import AMI

__all__ = ["ImageLookup", "ImagesFound"]

_OF_ALIASES_S: Final = 24 * 3600.0
_OF_USERS_S: Final = 300.0
_OF_IMAGES_S: Final = 60.0

_FOUND_AGAIN_AFTER_S: Final = 300.0
_NONE_AGAIN_AFTER_S: Final = 60.0


@attrs.frozen(kw_only=True)
class ImagesFound:
    """The images of a class; with none, why. Reasons and messages are those of the condition ``AMIsReady``."""

    images: tuple[AMI, ...] = ()
    unsupported: str = ""
    """Why there will be none."""
    kept: tuple[str, ...] = ()
    """What AWS would not say now, so that its last answer still holds: one line each, for an event or a log."""

    @property
    def reason(self) -> str:
        if self.unsupported:
            return "UnsupportedAlias"
        return "AMIsReady" if self.images else "AMINotFound"

    @property
    def message(self) -> str:
        return self.unsupported or ("" if self.images else "AMISelector did not match any AMIs")

    @property
    def look_again_s(self) -> float | None:
        """When to look again; None where only another class or another cluster would change the answer."""
        if self.unsupported:
            return None
        return _FOUND_AGAIN_AFTER_S if self.images else _NONE_AGAIN_AFTER_S


@attrs.frozen
class _Value:
    """What a parameter said, and when."""

    image: str
    at: float
    parameter: ImageParameter

    def is_fresh(self, now: float) -> bool:
        return now - self.at < (_OF_USERS_S if self.parameter.is_users else _OF_ALIASES_S)


class ImageLookup:
    """Finds the images of node classes.

    A parameter that is missing is skipped: not every image exists for every version. One that cannot be read keeps its last
    value; where it never had one, the lookup fails, so that no class loses an image (and its nodes drift) over one refused
    call.
    """

    def __init__(self, ec2: EC2API, ssm: SSMAPI, clock: Clock) -> None:
        self._ec2 = ec2
        self._ssm = ssm
        self._clock = clock
        self._values: dict[str, _Value] = {}
        self._listed: dict[str, tuple[float, tuple[dict[str, Any], ...]]] = {}

    def images(self, node_class: NodeClass, kubernetes: str) -> ImagesFound:
        """The images of a class on a cluster of this version of Kubernetes.

        Raises:
            AWSError: EC2 or Systems Manager failed, and nothing is known from before.
            ProviderError: an alias names images that do not exist (yet).
        """
        try:
            wanted = parameters(node_class, kubernetes)
        except UnsupportedAlias as error:
            return ImagesFound(unsupported=str(error))
        found, kept = self._read(wanted)
        if not found and any(not parameter.is_users for parameter in wanted):
            raise ProviderError(_nothing_found(node_class, wanted))
        listed = [image for query in queries(node_class, found) for image in self._describe(query)]
        chosen = choose(listed, node_class, suited(wanted, found), now=self._clock.now())
        return ImagesFound(images=chosen, kept=tuple(kept))

    def _read(self, wanted: Iterable[ImageParameter]) -> tuple[dict[str, str], list[str]]:
        found: dict[str, str] = {}
        kept: list[str] = []
        for parameter in wanted:
            known = self._values.get(parameter.path)
            if known is None or not known.is_fresh(self._clock.now()):
                known, problem = self._ask(parameter, known)
                kept.extend(problem)
            if known is not None:
                found[parameter.path] = known.image
        return found, kept

    def _ask(self, parameter: ImageParameter, known: _Value | None) -> tuple[_Value | None, tuple[str, ...]]:
        """What Systems Manager says now; what it said last, and a line about it, where it does not answer."""
        try:
            answer = self._ssm.get_parameter({"Name": parameter.path})
        except AWSError as error:
            if error.has(ErrorClass.NOT_FOUND):
                self._values.pop(parameter.path, None)
                return None, ()
            if known is None:
                raise
            return known, (f"{parameter.path} is still taken to be {known.image}: {error}",)
        value = _Value(str(answer["Parameter"]["Value"]), self._clock.now(), parameter)
        self._values[parameter.path] = value
        return value, ()

    def _describe(self, query: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        key, now = json.dumps(query, sort_keys=True), self._clock.now()
        at, images = self._listed.get(key, (0.0, None))
        if images is None or now - at >= _OF_IMAGES_S:
            images = tuple(items(self._ec2.describe_images, query, "Images"))
            self._listed = {key: entry for key, entry in self._listed.items() if now - entry[0] < _OF_IMAGES_S}
            self._listed[key] = (now, images)
        return images

    def forget_deprecated(self) -> tuple[str, ...]:
        """Forget which image is the newest where it is deprecated by now: there is a newer one. The paths forgotten.

        Raises:
            AWSError: EC2 failed.
        """
        newest = [
            value for value in self._values.values() if not value.parameter.is_fixed and not value.parameter.is_users
        ]
        if not newest:
            return ()
        listed = self._describe(query_by_id(value.image for value in newest))
        old = {image["ImageId"] for image in listed if is_deprecated(image, self._clock.now())}
        paths = tuple(sorted(value.parameter.path for value in newest if value.image in old))
        for path in paths:
            self._values.pop(path, None)
        return paths


def _nothing_found(node_class: NodeClass, wanted: Iterable[ImageParameter]) -> str:
    meant = f"alias {node_class.alias}" if node_class.alias else f"family {node_class.ami_family}"
    paths = ", ".join(parameter.path for parameter in wanted)
    return f"no image exists for {meant}: none of these parameters does: {paths}"
