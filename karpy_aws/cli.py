"""``karpy aws``: what has to be set up on AWS, printed. No account is asked."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from karpy.errors import InvalidObject, shown
from karpy_aws.iampolicy import ANY, GENERATIONS, PolicyScope, partition_of, policies

__all__ = ["app"]

app = typer.Typer(
    name="aws",
    help="What karpy needs on AWS.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def aws() -> None:
    """What karpy needs on AWS."""


@app.command("iam-policy")
def iam_policy(
    cluster: Annotated[str, typer.Option(metavar="NAME", help="The EKS cluster.")],
    region: Annotated[
        str,
        typer.Option(
            metavar="REGION",
            envvar=["AWS_REGION", "AWS_DEFAULT_REGION"],
            help="Where the cluster is; without it, anywhere.",
        ),
    ] = ANY,
    generation: Annotated[
        str, typer.Option(metavar="VERSION", help=f"Of the node classes: {', '.join(GENERATIONS)}.")
    ] = "v1",
    account: Annotated[str, typer.Option(metavar="ID", help="The account; without it, any.")] = ANY,
    node_role: Annotated[
        str, typer.Option(metavar="NAME", help="The role of nodes; without it, KarpenterNodeRole- and the cluster.")
    ] = "",
    queue: Annotated[
        str, typer.Option(metavar="NAME", help="The queue of interruptions; without it, named like the cluster.")
    ] = "",
    policy: Annotated[str, typer.Option(metavar="NAME", help="Print this document alone.")] = "",
) -> None:
    """Print the IAM policies of the controller's role, as JSON: a document by each name."""
    scope = PolicyScope(
        cluster=cluster,
        region=region,
        account=account,
        partition=partition_of(region),
        node_role=node_role,
        queue=queue,
    )
    try:
        documents = policies(scope, generation)
    except InvalidObject as error:
        option = f"--{error.path.replace('_', '-')}"
        raise InvalidObject(error.problem, path=option, accepted=error.accepted) from None
    if policy and policy not in documents:
        raise InvalidObject(f"found {shown(policy)}", path="--policy", accepted=", ".join(documents))
    typer.echo(json.dumps(documents[policy] if policy else documents, indent=2))
