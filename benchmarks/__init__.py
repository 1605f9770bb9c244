"""How fast the engine is: ratios, each measured within one run of ``python -m benchmarks``."""
