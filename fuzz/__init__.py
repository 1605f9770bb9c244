"""Look for inputs that break something: ``make fuzz``, described in ``docs/fuzzing.md``."""
