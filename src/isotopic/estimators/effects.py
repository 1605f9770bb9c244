"""What covariates say about the weights: coefficients and effects of a fitted model."""

from typing import Any

from isotopic.arrays import Array
from isotopic.estimators.documentation import documented
from isotopic.fitted import Fitted, effects, fitted_of
from isotopic.random import Seed
from isotopic.table import Table


@documented
class CovariateEffects:
    """Attributes and methods of models that were fitted with covariates."""

    fitted_: Fitted

    @property
    def coefficients_(self) -> Array:
        """The coefficients of the covariates (covariates x components), the intercept first."""
        if self.fitted_.offsets.covariates is None:
            raise AttributeError("coefficients_ is set only by a fit with covariates.")
        return effects.coefficients(self.fitted_)

    @property
    def covariate_names_(self) -> Array:
        """The names of the rows of ``coefficients_``."""
        covariates = self.fitted_.offsets.covariates
        if covariates is None:
            raise AttributeError("covariate_names_ is set only by a fit with covariates.")
        return covariates.design.names

    @property
    def effects_(self) -> Table:
        """The table of :meth:`effects` without arguments."""
        if self.fitted_.offsets.covariates is None:
            raise AttributeError("effects_ is set only by a fit with covariates.")
        return self.effects()

    def effects(
        self,
        covariate: str | None = None,
        *,
        values: Any = None,
        others: str = "average",
        level: float = 0.9,
        method: str = "analytic",
        X: Any = None,
        n_resamples: int = 100,
        random_state: Seed = None,
    ) -> Table:
        """Return how the weights depend on the covariates, with intervals.

        %(arguments)s

        Returns
        -------
        table : Table
            Without ``covariate`` a row for each column of numbers and topic: ``covariate``,
            ``topic``, ``coefficient``, ``se``, ``lower`` and ``upper``; and ``change``,
            ``change_lower`` and ``change_upper``: by how much the topic's expected proportion
            changes for each unit of the covariate, averaged over the samples (for the intercept:
            the average proportion itself). With ``covariate`` a row for each of its values and
            topic: the value, ``topic``, the expected ``proportion``, ``se``, ``lower``, ``upper``,
            and its ``difference`` from the first value, with ``difference_lower`` and
            ``difference_upper``.

        Examples
        --------
        >>> import numpy as np
        >>> from isotopic import LDA
        >>> rng = np.random.default_rng(0)
        >>> year = rng.uniform(2000, 2020, 60)
        >>> X = rng.poisson(2.0, (60, 8))
        >>> model = LDA(2, tol=1e-2, random_state=0).fit(X, covariates={"year": year})
        >>> model.coefficients_.shape
        (2, 2)
        >>> list(model.effects("year", values=[2000, 2020]))[:4]
        ['year', 'topic', 'proportion', 'se']
        """
        fitted = fitted_of(self)
        if method not in ("analytic", "bootstrap"):
            raise ValueError(f"method must be 'analytic' or 'bootstrap', not {method!r}.")
        table = effects.effect_table(fitted, covariate, values, others, level)
        if method == "analytic":
            return table
        from isotopic.bootstrap import bootstrap  # noqa: PLC0415 - a layer above

        measured = [name for name in table if f"{name}_lower" in table]
        measured.append("coefficient" if covariate is None else "proportion")

        def estimate(name: str) -> Any:
            return lambda model: effects.effect_points(model.fitted_, covariate, values, others)[
                name
            ]

        found = bootstrap(
            self,  # type: ignore[arg-type] # every estimator has these methods
            X,
            statistic={name: estimate(name) for name in measured},
            n_resamples=n_resamples,
            level=level,
            weights="prior",
            random_state=random_state,
        )
        return effects.with_intervals(table, found)
