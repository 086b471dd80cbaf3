"""The schema of NodeOverlays, with the rules that the API server checks."""

from __future__ import annotations

from karpy.kube.schemas import Schema, conditions, number, object_, quantities, requirements, text, whole

__all__ = ["node_overlay_schema"]

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")
_PRICE = r"^[0-9]+(\.[0-9]+)?$"
_ADJUSTMENT = r"^(([+-][0-9]*\.?[0-9]+)|(\+[0-9]*\.?[0-9]+%)|(-[0-9]{1,2}(\.[0-9]+)?%)|(-100%))$"


def node_overlay_schema() -> Schema:
    """NodeOverlay, v1alpha1."""
    spec = object_(
        "Which instance types and offerings the overlay is about, and what it says of them.",
        {
            "requirements": {
                **requirements(_OPERATORS, min_values=False),
                "description": "What a type with the labels of a pool, and an offering of it, must satisfy. All must hold.",
                "x-kubernetes-validations": [
                    _needs_values("In"),
                    _needs_values("NotIn"),
                    {
                        "message": "requirements with operator 'Gt', 'Lt', 'Gte' or 'Lte' must have one integer of 0 or more",
                        "rule": "self.all(each, !(each.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || "
                        "(has(each.values) && size(each.values) == 1 && each.values[0].matches('^[0-9]+$')))",
                    },
                ],
            },
            "price": text("What the offerings cost per hour, whatever the cloud says.", pattern=_PRICE),
            "priceAdjustment": text(
                "What the offerings cost more or less than the cloud says: dollars per hour with a sign, or a percentage with one.",
                pattern=_ADJUSTMENT,
            ),
            "capacity": {
                **quantities("Resources that the machines have beside those that the cloud knows of."),
                "x-kubernetes-validations": [
                    {
                        "message": "invalid resource restricted",
                        "rule": "!['cpu', 'memory', 'ephemeral-storage', 'pods'].exists(name, name in self)",
                    }
                ],
            },
            "weight": number("Overlays of higher weight count before others.", bits=32, minimum=1, maximum=10000),
        },
        required=("requirements",),
        **{
            "x-kubernetes-validations": [
                {
                    "message": "cannot set both 'price' and 'priceAdjustment'",
                    "rule": "!has(self.price) || !has(self.priceAdjustment)",
                }
            ]
        },
    )
    status = object_("Whether the overlay counts.", {"conditions": conditions()})
    description = "A NodeOverlay changes what karpy takes the price or the capacity of instance types to be."
    return whole(description, spec, status)


def _needs_values(operator: str) -> dict[str, str]:
    return {
        "message": f"requirements with operator '{operator}' must have a value defined",
        "rule": f"self.all(each, each.operator != '{operator}' || (has(each.values) && size(each.values) > 0))",
    }
