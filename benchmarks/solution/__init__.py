"""Time to the same solution: isotopic and its peers from the same start on the same data."""
