"""How much of a fit the report contains."""

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True)
class Limits:
    """The largest numbers of samples, terms and characters; the page says what exceeds them."""

    samples: int = 100_000  # that can be selected
    entries: int = 6_000_000  # counts of all samples that are in the page, else some of each sample
    best_samples: int = 20  # kept for each topic because they have its largest shares
    terms: int = 25  # of a topic, for each position of the relevance slider
    sample_terms: int = 12  # of a sample, where not all of its counts are in the page
    name: int = 80  # characters of a name
    text: int = 10_000_000  # bytes of all documents in the page, compressed
    share: float = 1e-3  # the smallest of a topic that is listed for a sample
    mixture: int = 20  # topics listed for a sample
    history: int = 500  # points of a convergence curve

    def smaller(self) -> Self:
        """Return limits with fewer samples or, once these are few, fewer terms and characters."""
        if self.samples > 500:
            return replace(self, samples=self.samples * 2 // 3, entries=self.entries * 2 // 3)
        return replace(
            self,
            samples=max(1, self.samples // 2),
            terms=max(5, self.terms // 2),
            name=max(20, self.name // 2),
            entries=self.entries // 2,
        )
