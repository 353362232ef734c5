"""A model served by Ollama, called through the gate and within a budget; failures raise `ServiceOllama`."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import ollama

from sale_sofia.crawl.resilience.errors import ServiceOllama
from sale_sofia.crawl.resilience.gate import Gate, Outcome, Refusal
from sale_sofia.crawl.resilience.timeout_budget import TimeoutBudget
from sale_sofia.descriptions import settings as fixed
from sale_sofia.listings.text import plain
from sale_sofia.settings.model import Settings

# Responses of an untrusted server: read up to a size limit, and never decompressed.


class BoundedTransport(httpx.AsyncBaseTransport):
    """Requests uncompressed responses, and fails on one that is compressed or too long."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request.

        Raises:
            httpx.DecodingError: the response is compressed, against the request.
        """
        request.headers["accept-encoding"] = "identity"
        answer = await self._inner.handle_async_request(request)
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            await answer.aclose()
            raise httpx.DecodingError("the answer is packed")
        answer.stream = _Bounded(answer.stream, self._most)
        return answer

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, stream: Any, most: int) -> None:  # noqa: ANN401 - of two kinds by its type alone
        self._stream, self._left = stream, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._left -= len(part)
            if self._left < 0:
                raise httpx.ReadError("the answer does not end")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


_FAILURES = (
    ollama.ResponseError,
    ollama.RequestError,
    httpx.HTTPError,
    ConnectionError,
    TimeoutError,
    ValueError,
    # Raised by its library for JSON of the wrong shape, or nested without end.
    TypeError,
    LookupError,
    AttributeError,
    RecursionError,
)


class ModelBusy(Exception):
    """The gate refused, or the budget is used up. Nothing was sent."""


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """One model. Calls never take longer than their budget."""

    settings: Settings
    gate: Gate

    async def digest(self) -> str:
        """The digest of the model under its name, from `GET /api/tags`.

        Raises:
            ServiceOllama: Ollama does not answer, or has no such model.
        """
        name = self.settings.ollama_model
        try:
            async with asyncio.timeout(fixed.HEALTH_SECONDS), self._client(fixed.HEALTH_SECONDS) as client:
                digests = {model.model: model.digest for model in (await client.list()).models}
        except _FAILURES as error:
            raise ServiceOllama(
                f"Ollama at {self.settings.ollama_url} does not answer: {_reason(error)}"
            ) from error
        digest: str | None = digests.get(name) or digests.get(f"{name}:latest")
        if digest is None:
            raise ServiceOllama(f"Ollama has no model {name}; get it with `ollama pull {name}`")
        return digest

    async def ask(
        self, messages: Sequence[dict[str, str]], schema: Mapping[str, Any], budget: TimeoutBudget
    ) -> str:
        """The text of the model's answer.

        Raises:
            ModelBusy: the gate refused, or no time is left.
            ServiceOllama: the model failed; this was reported to the breaker.
        """
        while not budget.expired:
            async with self.gate.request(fixed.LLM_DOMAIN, budget.remaining()) as admission:
                if not isinstance(admission, Refusal):
                    try:
                        answer = await self._chat(messages, schema, budget)
                    except _FAILURES as error:
                        await self.gate.report(admission, Outcome.failure())
                        raise ServiceOllama(f"the model gave no answer: {_reason(error)}") from error
                    await self.gate.report(admission, Outcome.ok())
                    return answer
            if admission.why not in {"busy", "rate_limit"}:  # these pass: another process has the place
                raise ModelBusy(f"the model may not be asked now: {admission.why}")
            await asyncio.sleep(min(admission.retry_after_seconds, budget.remaining()))
        raise ModelBusy("the time for asking the model is used up")

    async def _chat(
        self, messages: Sequence[dict[str, str]], schema: Mapping[str, Any], budget: TimeoutBudget
    ) -> str:
        seconds = budget.child(self.settings.ollama_timeout).remaining()
        async with asyncio.timeout(seconds), self._client(seconds) as client:
            answer = await client.chat(
                model=self.settings.ollama_model,
                messages=messages,
                format=dict(schema),
                options={"temperature": 0, "num_predict": fixed.ANSWER_TOKENS_MOST},
            )
        return answer.message.content or ""

    def _client(self, seconds: float) -> ollama.AsyncClient:
        # Only the configured address: no proxy from the environment, no redirects.
        return ollama.AsyncClient(
            self.settings.ollama_url,
            timeout=seconds,
            follow_redirects=False,
            trust_env=False,
            transport=BoundedTransport(fixed.OLLAMA_MOST_BYTES),
        )


def _reason(error: Exception) -> str:
    """The error as one short, plain line, whatever the server sent."""
    reason = "no answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
    return plain(reason, fixed.OLLAMA_REASON_CHARACTERS)
