"""Writers of traces in the formats other tools read."""
