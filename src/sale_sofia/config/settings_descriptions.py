"""Settings of reading descriptions."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, Field

from sale_sofia.config.settings_types import decimal, notes, switch, whole

OLLAMA_ALLOWED: Final = "http[s]://host:port, without a path"
MODEL_ALLOWED: Final = "a name of Ollama's, such as gemma3:4b"
_OLLAMA_URL: Final = re.compile(r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?/?")
_MODEL: Final = re.compile(r"[A-Za-z0-9._/-]+(?::[A-Za-z0-9._-]+)?")


def _check_url(url: str) -> str:
    if not _OLLAMA_URL.fullmatch(url):
        raise ValueError(OLLAMA_ALLOWED)
    return url.rstrip("/")


def _check_model(name: str) -> str:
    if not _MODEL.fullmatch(name):
        raise ValueError(MODEL_ALLOWED)
    return name


class DescriptionSettings(BaseModel):
    """Settings of reading descriptions."""

    read_after_crawl: bool = switch(
        default=True, sentence="Read the descriptions of new adverts, by the rules alone, when a crawl ends."
    )
    llm_enabled: bool = switch(
        default=False, sentence="Let `enrich` ask Ollama about what the rules leave open, also without --llm."
    )
    ollama_start: bool = switch(
        default=False, sentence="Start `ollama serve` together with the other services, when it does not run."
    )
    ollama_url: Annotated[str, AfterValidator(_check_url)] = Field(
        default="http://127.0.0.1:11434",
        description="Where Ollama listens.",
        json_schema_extra=notes(OLLAMA_ALLOWED, "URL"),
    )
    ollama_model: Annotated[str, AfterValidator(_check_model)] = Field(
        default="gemma3:4b",
        description="The model that is asked; it has to be there already (`ollama pull`).",
        json_schema_extra=notes(MODEL_ALLOWED, "model"),
    )
    ollama_timeout: float = decimal(60.0, 0.1, 3600, "seconds", "Longest wait for one answer of the model.")
    llm_run_seconds: float = decimal(
        600.0, 0.1, 86_400, "seconds", "Longest time one enrichment spends on asking the model."
    )
    llm_requests_per_minute: float = decimal(
        60.0, 0.1, 6000, "requests per minute", "Most questions to the model, over all processes."
    )
    llm_concurrency: int = whole(1, 1, 16, "questions", "Questions to the model at once, over all processes.")
