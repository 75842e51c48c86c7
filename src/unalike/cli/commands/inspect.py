"""`unalike inspect`: what does a federation look like?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ...errors import ConfigError
from ..options import GRAPH, experiment_of
from ..screen import print_json, show_rows, show_summary

if TYPE_CHECKING:
    from ...data.similarity import Similarity


def _likeness(found: Similarity) -> dict[str, float]:
    """The numbers of the verdict."""
    numbers = {"homogeneity": found.homogeneity, "iid_reference": found.reference, "ratio": found.ratio}
    return numbers | {"groups": int(found.groups().max()) + 1}


def inspect_data(
    data: str = typer.Argument(
        "digits", help="Data set, or path of a folder of clients (`unalike list data`)."
    ),
    label: str | None = typer.Option(
        None, help="Column to predict, for tables.", show_default="label, y or target, or the last"
    ),
    client_column: str | None = typer.Option(None, help="Column that names the client of every row."),
    drop: str | None = typer.Option(None, help="Columns of tables to leave out, such as id,name."),
    keep_columns: str | None = typer.Option(
        None, help="Text columns to keep although their values single out rows.", show_default="none"
    ),
    prepare: str | None = typer.Option(
        None, help="Code words and standardize numbers: auto, always or never.", show_default="auto"
    ),
    missing: str | None = typer.Option(
        None, help="Missing values in tables: fill, drop or refuse.", show_default="fill"
    ),
    partition: str | None = typer.Option(
        None, help="How rows are dealt to clients.", show_default="the data's own, or iid"
    ),
    clients: int | None = typer.Option(None, min=1, help="Number of clients.", show_default="all, or 100"),
    sizes: str | None = typer.Option(
        None, help="Law of clients' sizes, such as lognormal:1.", show_default="the partition's own"
    ),
    skew: str | None = typer.Option(None, help="Feature skew between clients.", show_default="none"),
    samples: int | None = typer.Option(None, min=1, help="Use only that many rows.", show_default="all"),
    seed: int = typer.Option(0, min=0, help="Same seed, same partition."),
    picture: Path = typer.Option(Path("partition.png"), help="Where to draw who has what."),
    similarity: bool = typer.Option(
        False, "--similarity", help="Compare clients by their features, too; a picture and a page of it."
    ),
    graph: str = GRAPH,
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """Show and plot how many rows and which labels clients have.

    With --similarity, PICTURE-similarity.png and .html show which clients are alike.

    Example: unalike inspect digits --partition dirichlet:0.1 --clients 20
    """
    if not similarity and graph != "full":
        raise ConfigError(f"--graph {graph} is of the similarity graph; say --similarity, too.")
    experiment = experiment_of(
        data=data,
        label=label,
        client_column=client_column,
        drop=drop,
        keep_columns=keep_columns,
        prepare=prepare,
        missing=missing,
        partition=partition,
        sizes=sizes,
        clients=clients,
        skew=skew,
        samples=samples,
        seed=seed,
    )
    from ...data import describe, draw_partition
    from ...experiments.build import make_federation
    from ...report import save

    federation = make_federation(experiment)
    facts = {**describe(federation), "picture": str(picture)}
    save(draw_partition(federation), picture)
    found = None
    if similarity:
        from ...data.similarity import measure_similarity
        from .advise_heterogeneity import write_similarity

        found = measure_similarity(federation, seed=seed, graph=graph)
        drawn, page = (picture.with_name(f"{picture.stem}-similarity{end}") for end in (".png", ".html"))
        places = write_similarity(found, federation, drawn, page)
        facts["similarity"] = {**found.as_dict(), **places} if json else {**_likeness(found), **places}
    if json:
        prepared = None if federation.preparation is None else federation.preparation.as_dict()
        facts["preparation"] = prepared
        print_json({**facts, "labels": federation.label_counts().tolist() if federation.classes else None})
        return
    show_summary(facts, f"{data}: {len(federation)} clients")
    if federation.preparation is not None:
        show_rows(federation.preparation.explain(), "columns, from the training rows of all clients")
    if found is not None:
        from .advise_heterogeneity import show_similarity

        show_similarity(found)
    if federation.classes and federation.classes <= 20:
        counts = federation.label_counts()[:20]
        heads = federation.label_names or tuple(str(label) for label in range(federation.classes))
        rows = [
            {
                "client": federation.name(i),
                "rows": str(row.sum()),
                **{h: str(n) for h, n in zip(heads, row, strict=True)},
            }
            for i, row in enumerate(counts)
        ]
        title = "training rows by label" + (" (first 20 clients)" if len(federation) > 20 else "")
        rarest = [heads[k] for k in federation.label_counts().sum(axis=0).argsort(kind="stable")]
        show_rows(rows, title, spare=rarest, more="--json prints all labels")
