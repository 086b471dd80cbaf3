"""What a server has beyond the resources that it always serves."""

from __future__ import annotations

import attrs

__all__ = ["BARE", "LIVING", "Features"]


@attrs.frozen(kw_only=True)
class Features:
    """``watch_list``: watches may begin with a list that ends in a bookmark (``sendInitialEvents``), which Kubernetes 1.31 has
    behind the feature gate WatchList. ``kubelets``: pods have somebody to ask for their logs, which are empty.
    """

    watch_list: bool = False
    kubelets: bool = False


BARE = Features()
"""An API server of Kubernetes 1.31 by itself, as it comes."""
LIVING = Features(watch_list=True, kubelets=True)
"""The server of a cluster with nodes, for clients newer than itself too."""
