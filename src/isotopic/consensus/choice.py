"""Choose the number of components by stability and held-out score together."""

from dataclasses import dataclass

import numpy as np

from isotopic.arrays import Array

# A number is stable if its components are on average, and each of them, this stable at least. One
# too many has a component of about -0.5; a few runs in a poor local optimum cost a good one 0.5.
MEAN_STABILITY, MIN_STABILITY = 0.8, 0.2

# If no number is stable, those compete whose mean stability is behind the highest by no more.
_NEARLY_AS_STABLE = 0.1


@dataclass(frozen=True)
class Choice:
    """A number of components, why it was chosen, and what to warn of."""

    number: int
    reason: str
    is_edge: bool = False
    is_stable: bool = True


def choose_number(
    numbers: Array, mean_stability: Array, min_stability: Array, scores: Array
) -> Choice:
    """Return the smallest stable number whose score is as good as the best, but for its noise.

    That is: its score is behind that of the best stable number by no more than one standard error
    of their difference. The same samples are held out for all numbers, so differences are known far
    better than scores. If no number is stable, the most stable ones take their place.

    Parameters
    ----------
    numbers : ndarray of int of shape (n_numbers,)
        In ascending order.
    mean_stability, min_stability : ndarray of shape (n_numbers,)
    scores : ndarray of shape (n_numbers, n_splits)
        Held-out scores; a split is the same for all numbers. Without splits only stability counts.
    """
    if len(numbers) == 1:
        return Choice(int(numbers[0]), f"{numbers[0]} is the only number that was tried.")
    is_stable = are_stable(mean_stability, min_stability)
    among = np.flatnonzero(is_stable)
    if not is_stable.any():
        among = np.flatnonzero(mean_stability >= mean_stability.max() - _NEARLY_AS_STABLE)
    if scores.shape[1] == 0:
        at = int(among[-1]) if is_stable.any() else int(np.argmax(mean_stability))
        why = "the largest number whose components are all stable" if is_stable.any() else (
            "the most stable number, though no number is stable"
        )  # fmt: skip
        reason = f"{numbers[at]} is {why} (nothing was held out to score)."
        return _choice(numbers, at, reason, bool(is_stable.any()))
    means = scores.mean(axis=1)
    best = int(among[np.argmax(means[among])])
    behind = scores[best] - scores
    errors = behind.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    enough = among[behind.mean(axis=1)[among] <= errors[among]]
    at = int(enough[0])
    reason = _reason(numbers, at, best, mean_stability, min_stability, means)
    return _choice(numbers, at, reason, bool(is_stable.any()), best)


def are_stable(mean_stability: Array, min_stability: Array) -> Array:
    """Return which numbers are stable, from the mean and the lowest stability of each."""
    return (mean_stability >= MEAN_STABILITY) & (min_stability >= MIN_STABILITY)


def _reason(
    numbers: Array, at: int, best: int, stability: Array, min_stability: Array, means: Array
) -> str:
    is_stable = are_stable(stability, min_stability)
    number = int(numbers[at])
    which = "stable numbers" if is_stable.any() else "most stable numbers (none is stable)"
    if at == best:
        reason = f"{number} has the best held-out score of all {which}"
    else:
        reason = (
            f"{number} is the smallest of the {which} whose held-out score is behind the best, "
            f"that of {numbers[best]}, by no more than one standard error of their difference"
        )
    reason += f"; its mean stability is {stability[at]:.2f}"
    highest = int(np.argmax(means))
    if means[highest] > means[best]:
        reason += f". {numbers[highest]} scores higher, but "
        if stability[highest] < MEAN_STABILITY:
            reason += f"its mean stability is only {stability[highest]:.2f}"
        else:
            reason += f"its least stable component has only {min_stability[highest]:.2f}"
    return reason + "."


def _choice(numbers: Array, at: int, reason: str, is_stable: bool, best: int = 0) -> Choice:
    """Return the choice; it is at the edge, too, if the best stable number is the largest."""
    is_edge = max(at, best) == len(numbers) - 1 or (at == 0 and int(numbers[0]) > 1)
    return Choice(int(numbers[at]), reason, is_edge, is_stable)
