"""`attune judge` and `attune estimate`: ask judges about conversations, and say before what it will cost."""

from typing import Annotated

import typer

from attunement.cli import options


def judge(
    files: options.FilesArgument,
    judges: options.JudgeOption,
    instrument: options.InstrumentOption = "coaching-v1",
    study: options.StudyOption = None,
    item: options.ItemOption = None,
    layout: options.LayoutOption = "criterion-first",
    ask: options.AskOption = None,
    responses: options.ResponsesOption = options.Responses.ALL,
    repeats: options.RepeatsOption = 1,
    stop_on_gate: options.StopOnGateOption = False,
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="Ask only what ended in an ERROR before.")
    ] = False,
    enforce_length: Annotated[
        bool, typer.Option("--enforce-length", help="Ask once more where the reasoning is too long.")
    ] = False,
    require_evidence: Annotated[
        bool, typer.Option("--require-evidence", help="Ask once more where no quotation holds.")
    ] = False,
    limit: options.LimitOption = None,
    sample: options.SampleOption = None,
    filters: options.FilterOption = None,
    base_url: options.BaseUrlOption = None,
    temperature: options.TemperatureOption = 0.0,
    seed: options.SeedOption = None,
    timeout: Annotated[float | None, typer.Option("--timeout", min=0.1, help="Seconds for one call.")] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", min=16, help="The longest reply.")] = None,
    logprobs: Annotated[bool, typer.Option("--logprobs", help="Keep the probabilities of the words.")] = False,
    max_connections: Annotated[int, typer.Option("--max-connections", min=1, help="Calls at once, at most.")] = 100,
    rpm: Annotated[float | None, typer.Option("--rpm", min=0.1, help="Requests a minute, at most.")] = None,
    tpm: Annotated[float | None, typer.Option("--tpm", min=1, help="Tokens a minute, at most.")] = None,
    max_calls: Annotated[
        int | None, typer.Option("--max-calls", min=0, help="Stop this run after so many calls.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", min=0, help="Stop this run before it has cost so many dollars.")
    ] = None,
    price_in: options.PriceInOption = None,
    price_out: options.PriceOutOption = None,
    processes: Annotated[
        int, typer.Option("--processes", min=1, help="Share the work among this many processes, to use more cores.")
    ] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing while it runs.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Progress and result as JSON, for programs.")] = False,
    format: options.FormatOption = None,
    system: options.SystemOption = None,
    prompt_field: options.PromptFieldOption = None,
    response_field: options.ResponseFieldOption = None,
    id_field: options.IdFieldOption = None,
    system_field: options.SystemFieldOption = None,
    skip_invalid: options.SkipInvalidOption = False,
) -> None:
    """Ask judges about conversations and save every answer.

    Answers are saved in a study. What the study already has is not asked again: interrupt a run with Ctrl-C and start
    it again to go on. Keys are taken from the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY). Exit codes: 0 all was
    answered, 3 errors remain, 2 it could not run, 130 after Ctrl-C.

    Example: attune judge chats.jsonl --instrument coaching-v1 --judge openai:gpt-5.2
    """
    from attunement.api import Settings, default_study
    from attunement.cli.running import run_and_report
    from attunement.prompts import Ask, Layout

    settings = Settings(
        judges=judges,
        instrument=instrument,
        items=item,
        layout=Layout(layout),
        ask=Ask(ask) if ask else None,
        responses=responses,
        repeats=repeats,
        stop_on_gate=stop_on_gate,
        retry_errors=retry_errors,
        enforce_length=enforce_length,
        require_evidence=require_evidence,
        max_calls=max_calls,
        max_cost=max_cost,
        base_url=base_url,
        temperature=temperature,
        seed=seed,
        timeout=timeout,
        max_tokens=max_tokens,
        logprobs=logprobs,
        max_connections=max_connections,
        rpm=rpm,
        tpm=tpm,
        price_in=price_in,
        price_out=price_out,
        processes=processes,
        filter=filters or (),
        sample=sample,
        limit=limit,
    )
    place = study or default_study(files[0])
    conversations = options.open_conversations(
        files,
        format=format,
        system=system,
        skip_invalid=skip_invalid,
        output=None if "://" in str(place) else place,
        prompt_field=prompt_field,
        response_field=response_field,
        id_field=id_field,
        system_field=system_field,
    )
    raise typer.Exit(run_and_report(conversations, place, settings, quiet=quiet, json=json))


def estimate(
    files: options.FilesArgument,
    judges: options.JudgeOption,
    instrument: options.InstrumentOption = "coaching-v1",
    study: options.StudyOption = None,
    item: options.ItemOption = None,
    layout: options.LayoutOption = "criterion-first",
    ask: options.AskOption = None,
    responses: options.ResponsesOption = options.Responses.ALL,
    repeats: options.RepeatsOption = 1,
    limit: options.LimitOption = None,
    sample: options.SampleOption = None,
    filters: options.FilterOption = None,
    base_url: options.BaseUrlOption = None,
    temperature: options.TemperatureOption = 0.0,
    seed: options.SeedOption = None,
    price_in: options.PriceInOption = None,
    price_out: options.PriceOutOption = None,
    format: options.FormatOption = None,
    system: options.SystemOption = None,
    prompt_field: options.PromptFieldOption = None,
    response_field: options.ResponseFieldOption = None,
    id_field: options.IdFieldOption = None,
    system_field: options.SystemFieldOption = None,
    skip_invalid: options.SkipInvalidOption = False,
) -> None:
    """Estimate the questions, tokens and cost of a run.

    Nothing is sent. Prices come from a list inside the package; it says which version, and when that price was last
    checked.

    Example: attune estimate chats.jsonl --instrument coaching-v1 --judge openai:gpt-5.2
    """
    from attunement.api import Settings, default_study
    from attunement.cli.running import estimates
    from attunement.prompts import Ask, Layout

    settings = Settings(
        judges=judges,
        instrument=instrument,
        items=item,
        layout=Layout(layout),
        ask=Ask(ask) if ask else None,
        responses=responses,
        repeats=repeats,
        base_url=base_url,
        temperature=temperature,
        seed=seed,
        price_in=price_in,
        price_out=price_out,
        filter=filters or (),
        sample=sample,
        limit=limit,
    )
    conversations = options.open_conversations(
        files,
        format=format,
        system=system,
        skip_invalid=skip_invalid,
        prompt_field=prompt_field,
        response_field=response_field,
        id_field=id_field,
        system_field=system_field,
    )
    place = study or (None if files[0] == "-" else default_study(files[0]))
    for line in estimates(conversations, place, settings):
        typer.echo(line)
