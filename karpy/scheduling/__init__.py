"""What nodes do these pods need? Pure: a snapshot and a catalog in, a plan out. docs/architecture.md has a map of the modules."""
