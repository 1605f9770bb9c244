"""How much of a fit the report keeps."""

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True)
class Limits:
    """The most of everything; what is beyond is left out, and the page says so.

    Attributes
    ----------
    samples : int
        Samples that can be looked at one by one.
    best_samples : int
        Of these, at most so many of each topic because they have most of it.
    terms : int
        Terms that are shown of a topic, for each value of the relevance slider.
    sample_terms : int
        Terms that are shown of a sample.
    name : int
        Characters of a name.
    text : int
        Characters of a document.
    all_text : int
        Characters of all documents.
    share : float
        Topics with a smaller share of a sample are not listed for it.
    mixture : int
        Topics that are listed of a sample.
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
        """Leave samples out, and when few are left terms and letters."""
        if self.samples > 500:
            return replace(self, samples=self.samples * 2 // 3, all_text=self.all_text * 2 // 3)
        return replace(
            self,
            samples=max(1, self.samples // 2),
            terms=max(5, self.terms // 2),
            name=max(20, self.name // 2),
            all_text=self.all_text // 2,
        )
