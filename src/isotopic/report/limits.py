"""How much of a fit the report contains."""

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True)
class Limits:
    """The largest numbers of samples, terms and characters; the page says what exceeds them.

    Attributes
    ----------
    samples : int
        Samples that can be selected.
    best_samples : int
        Samples that are kept for each topic because they have its largest shares.
    terms : int
        Terms shown for a topic, for each position of the relevance slider.
    sample_terms : int
        Terms shown for a sample.
    name : int
        Characters of a name.
    text : int
        Characters of a document.
    all_text : int
        Characters of all documents.
    share : float
        Smallest share of a topic that is listed for a sample.
    mixture : int
        Topics listed for a sample.
    history : int
        Points of a convergence curve.
    """

    samples: int = 20_000
    best_samples: int = 20
    terms: int = 25
    sample_terms: int = 12
    name: int = 80
    text: int = 3_000
    all_text: int = 3_000_000
    share: float = 1e-3
    mixture: int = 20
    history: int = 500

    def smaller(self) -> Self:
        """Return limits with fewer samples or, once these are few, fewer terms and characters."""
        if self.samples > 500:
            return replace(self, samples=self.samples * 2 // 3, all_text=self.all_text * 2 // 3)
        return replace(
            self,
            samples=max(1, self.samples // 2),
            terms=max(5, self.terms // 2),
            name=max(20, self.name // 2),
            all_text=self.all_text // 2,
        )
