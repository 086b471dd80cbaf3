"""Bearer tokens: those of service accounts, which the server signs and knows again, and the one of the administrator."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from karpy.clock import format_time
from karpy.errors import KubeError
from karpy.sim.api import status
from karpy.sim.api.access.identity import ADMIN, ANONYMOUS, Identity, service_account
from karpy.sim.api.records import Record
from karpy.sim.api.status import Cause

if TYPE_CHECKING:
    from karpy.sim.apiserver import ApiServer

__all__ = ["ISSUER", "Tokens"]

ISSUER = "https://kubernetes.default.svc.cluster.local"
_DEFAULT_LIFETIME_S = 3600
_SHORTEST_LIFETIME_S = 600
_LONGEST_LIFETIME_S = 1 << 32
_BOUND_KINDS = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}

_encode = msgspec.json.Encoder().encode


class Tokens:
    """Issues and recognizes the tokens of one server.

    The key, like all of this, belongs to the face that the server shows to the network: nothing of it gets into the store.
    ``admin`` is the token of the administrator; without one, whoever brings no token is the administrator.
    """

    def __init__(self, server: ApiServer, admin: str = "") -> None:
        self._server = server
        self._admin = admin
        self._key = secrets.token_bytes(32)

    def identify(self, authorization: str) -> Identity:
        """Who sends a request with this ``Authorization`` header.

        Raises:
            KubeError: 401, nobody whom this server knows.
        """
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            if not self._admin:
                return ADMIN
            if self._server.access.rbac:
                return ANONYMOUS
            raise _unauthorized()
        found = self.recognize(token.strip())
        if found is None:
            raise _unauthorized()
        return found

    def recognize(self, token: str) -> Identity | None:
        """Whose token it is; None when it is nobody's, or nobody's any more."""
        if self._admin and hmac.compare_digest(token.encode(), self._admin.encode()):
            return ADMIN
        claims = self._claims(token)
        if claims is None or claims["exp"] <= self._server.clock.now():
            return None
        bound = claims["kubernetes.io"]
        namespace, account = bound["namespace"], bound["serviceaccount"]
        if not self._exists("serviceaccounts", namespace, account):
            return None
        for kind, plural in _BOUND_KINDS.items():
            reference = bound.get(kind.lower())
            space = "" if kind == "Node" else namespace
            if reference is not None and not self._exists(plural, space, reference):
                return None
        found = service_account(namespace, account["name"], account["uid"])
        extra = {"authentication.kubernetes.io/credential-id": (f"JTI={claims['jti']}",)}
        return Identity(found.name, found.groups, found.uid, extra)

    def _exists(self, plural: str, namespace: str, reference: Mapping[str, str]) -> bool:
        collection = self._server.store.existing(("", plural))
        record = collection.get(namespace, reference["name"]) if collection is not None else None
        return record is not None and record.object["metadata"]["uid"] == reference["uid"]

    def _claims(self, token: str) -> dict[str, Any] | None:
        signed, _, signature = token.rpartition(".")
        if not hmac.compare_digest(_text(self._sign(signed)).encode(), signature.encode()):
            return None
        payload = signed.partition(".")[2]
        claims: dict[str, Any] = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return claims

    def _sign(self, signed: str) -> bytes:
        return hmac.new(self._key, signed.encode(), hashlib.sha256).digest()

    def issue(self, account: Record, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a TokenRequest for a service account.

        Raises:
            KubeError: 422 the lifetime is too short or too long, 404 or 409 the object to bind it to is not there.
        """
        spec = asked.get("spec") or {}
        lifetime = spec.get("expirationSeconds") or _DEFAULT_LIFETIME_S
        _check_lifetime(lifetime)
        meta = account.object["metadata"]
        bound = {
            "namespace": meta["namespace"],
            "serviceaccount": {"name": meta["name"], "uid": meta["uid"]},
            **self._binding(meta["namespace"], spec.get("boundObjectRef")),
        }
        now = self._server.clock.now()
        audiences = spec.get("audiences") or [ISSUER]
        claims = {
            "aud": audiences,
            "exp": int(now + lifetime),
            "iat": int(now),
            "iss": ISSUER,
            "jti": secrets.token_hex(16),
            "kubernetes.io": bound,
            "nbf": int(now),
            "sub": service_account(meta["namespace"], meta["name"]).name,
        }
        signed = f"{_text(_encode({'alg': 'HS256', 'typ': 'JWT'}))}.{_text(_encode(claims))}"
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": meta["name"],
                "namespace": meta["namespace"],
                "creationTimestamp": format_time(now),
            },
            "spec": {
                "audiences": audiences,
                "expirationSeconds": lifetime,
                "boundObjectRef": spec.get("boundObjectRef"),
            },
            "status": {
                "token": f"{signed}.{_text(self._sign(signed))}",
                "expirationTimestamp": format_time(now + lifetime),
            },
        }

    def _binding(self, namespace: str, reference: Mapping[str, Any] | None) -> dict[str, Any]:
        if not reference:
            return {}
        kind, name = reference.get("kind", ""), reference.get("name", "")
        plural = _BOUND_KINDS.get(kind)
        collection = self._server.store.existing(("", plural)) if plural is not None else None
        if collection is None:
            raise status.bad_request(f"cannot bind token for serviceaccount to object of type {kind}")
        record = collection.get("" if kind == "Node" else namespace, name)
        if record is None:
            raise status.not_found(collection.resource, name)
        uid = record.object["metadata"]["uid"]
        if reference.get("uid") and reference["uid"] != uid:
            why = f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
            raise status.conflict(
                collection.resource, name, f"{why}The object might have been deleted and then recreated"
            )
        return {kind.lower(): {"name": name, "uid": uid}}


def _check_lifetime(seconds: int) -> None:
    shortest = "may not specify a duration less than 10 minutes"
    longest = "may not specify a duration larger than 2^32 seconds"
    for wrong, why in ((seconds < _SHORTEST_LIFETIME_S, shortest), (seconds > _LONGEST_LIFETIME_S, longest)):
        if wrong:
            cause = Cause.bad("spec.expirationSeconds", str(seconds), why)
            details = {"group": "authentication.k8s.io", "kind": "TokenRequest", "causes": [cause.as_object()]}
            message = f'TokenRequest.authentication.k8s.io "" is invalid: {cause.text}'
            raise KubeError(message, code=422, reason="Invalid", details=details)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _unauthorized() -> KubeError:
    return KubeError("Unauthorized", code=401, reason="Unauthorized")
