"""Covariates on the command line: from the metadata of the data, and into a file of effects."""

from pathlib import Path
from typing import Any

from isotopic.cli.options import parse_names
from isotopic.cli.output import InputError
from isotopic.cli.reading import LargeData
from isotopic.cli.tables import write_tables
from isotopic.covariates import metadata_of
from isotopic.fitted.effects import has_effects
from isotopic.io import CountData
from isotopic.io.formats import BY_NAME


def covariate_arguments(data: Any, given: str | None) -> dict[str, Any]:
    """Return the arguments of ``fit`` that ``--covariates`` stands for."""
    if given is None:
        return {}
    table = _metadata(data, "--covariates")
    if given.lstrip().startswith("~"):
        return {"covariates": table, "formula": given}
    names = parse_names(given)
    absent = [name for name in names if name not in table]
    if absent or not names:
        raise InputError(
            f"--covariates: the data has no metadata called {(absent or [given])[0]!r}; it has "
            f"{', '.join(table)}. A formula begins with '~'. Join a table beside the data with "
            "--sample-table FILE."
        )
    return {"covariates": {name: table[name] for name in names}}


def covariates_of_new(model: Any, data: Any) -> Any:
    """Return the metadata of new samples if the model was fitted with covariates, else ``None``."""
    return None if model.fitted_.offsets.covariates is None else _metadata(data, "The model")


def write_effects(model: Any, path: Path) -> None:
    """Write the coefficients of the covariates, with intervals, if there are any."""
    if has_effects(model.fitted_):
        write_tables([model.effects_], path)


def _metadata(data: CountData | LargeData, who: str) -> dict[str, Any]:
    """Return the metadata of the samples; ``who`` needs them, and the message names it."""
    if isinstance(data, LargeData):
        raise InputError(
            f"{who} needs metadata, which row blocks do not have. Leave out --memory-limit."
        )
    if data.metadata:
        return metadata_of(data)
    advice = "Join a table with a row for each sample with --sample-table FILE"
    if BY_NAME[data.format].has_columns:
        advice = f"Name columns of the table with --metadata NAME,NAME, or j{advice[1:]}"
    raise InputError(f"{who} needs metadata of the samples, but the data has none. {advice}.")
