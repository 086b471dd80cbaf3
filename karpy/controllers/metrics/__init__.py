"""Measurements that no other controller makes in passing: read off the cluster when asked, or heard in what happens to objects."""
