"""The command `samples`: writes invented filings with known duplicates."""

from __future__ import annotations

from pathlib import Path

import click

from sherlock_pg.samples.variants import Kind


@click.command(name="samples")
@click.argument("outdir", type=click.Path(path_type=Path, file_okay=False))
@click.option("--seed", default=1, show_default=True, help="Same seed, same documents.")
@click.option(
    "--cases",
    type=click.IntRange(min=1),
    default=9,
    show_default=True,
    help="Number of cases; each has an original in archive/ and its variants in incoming/.",
)
@click.option(
    "--kinds",
    "kinds",
    type=click.Choice([kind.value for kind in Kind]),
    multiple=True,
    help="A kind of document to write for each case; may be repeated. Default: all.",
)
@click.option(
    "--demo",
    is_flag=True,
    help="Write the small fixed collection of the README and the tests instead.",
)
@click.option("--overwrite", is_flag=True, help="Write into a folder that is not empty.")
@click.pass_context
def samples(
    context: click.Context,
    outdir: Path,
    seed: int,
    cases: int,
    kinds: tuple[str, ...],
    demo: bool,
    overwrite: bool,
) -> None:
    """Write sample filings, their near-duplicates and a manifest into OUTDIR.

    The documents are in Spanish: tutelas and habeas corpus with invented people. manifest.json
    names for each file its case, its kind, its entities, the document it duplicates and the
    class that a detector should give it after archive/ has been loaded.
    """
    from sherlock_pg.samples import committed, generate

    if demo:
        given = [
            option
            for option in ("seed", "cases", "kinds")
            if context.get_parameter_source(option) is not click.core.ParameterSource.DEFAULT
        ]
        if given:
            raise click.UsageError(f"--demo is a fixed collection: it takes no --{given[0]}")
        seed, documents = committed.SEED, committed.plan()
    else:
        chosen = [Kind(kind) for kind in kinds] or list(Kind)
        documents = generate.plan_collection(seed, cases, chosen)
    generate.write_collection(outdir, seed, documents, overwrite=overwrite)
    click.echo(f"{len(documents)} documents and {generate.MANIFEST} in {outdir}", err=True)
