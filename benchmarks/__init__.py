"""How fast bertbook is, against its peers on the same work: ``python -m benchmarks``."""
