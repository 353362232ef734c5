"""Fixed numbers of reading descriptions: each with its unit and the reason for its size."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel

from sale_sofia.settings.types import SERVER_ALLOWED, ServerUrl, decimal, described, switch, whole

STEM_LETTERS: Final = 4
"""Letters of the shortest stem: a shorter one begins too many other words."""
ENDING_LETTERS: Final = 6
"""Letters that may follow a stem: the longest ending of an adjective with its article, and one more."""
CUT_SHORT_LETTERS: Final = 3
"""Letters of the shortest beginning that stands for a word: "осн." for "основен"."""
ROOT_LETTERS: Final = 2
"""Letters behind such a beginning in which all words agree that it may stand for."""
SLIP_LETTERS: Final = 7
"""Letters of the shortest word in which a slip is put right; a shorter one is too near to others."""
SLIP_ENDING_LETTERS: Final = 3
"""Letters of an ending that a misspelt stem may have: "апартментът", "обзадведените"."""
LATIN_SHARE: Final = 0.9
"""Share of its letters from which on a text is written in Latin ones; with names alone it stays below."""
WORDS_REMEMBERED: Final = 50_000
"""Words whose meaning is kept in memory: more than all adverts of a city use."""
RULE_WINDOW: Final = 3
"""Tokens before and after its words in which a rule looks for what makes it say nothing."""
OWN_TOKENS: Final = 6
"""Tokens before a bare number among which "ние" or "този" says that it is this flat's."""
CLAUSE_MOST_TOKENS: Final = 60
"""Tokens of the longest clause: a text without signs is cut after so many, so that time grows with it."""
LED_IN_TOKENS: Final = 5
"""Tokens of the longest clause that only tells how the next one is said: "по желание на купувача -"."""
LIST_TOKENS: Final = 10
"""Tokens in which a list is closed by its "и": "асансьор, мазе, две тераси и гараж"."""
OFFER_WINDOW: Final = 9
"""Tokens behind "възможност" in which the flat stands that one may buy."""
NOUN_LETTERS: Final = 4
"""Letters of the shortest unknown noun that an adjective may lead to."""
OFFER_WORDS: Final = 3
"""Tokens before a flat in which its price or its offer leads to it: "цена за тристаен"."""
ARTICLE_LETTERS: Final = 5
"""Letters of the shortest noun with an article; a shorter word that ends so is a pronoun."""
STRANGER_LETTERS: Final = 3
"""Letters of the shortest unknown word that may be a noun or a verb; a shorter one is a particle."""
PAST_LETTERS: Final = 5
"""Letters of the shortest verb whose ending tells of the past; "тиха" is none."""
COUNT_MOST: Final = 12
"""Largest number of rooms of one kind that a flat can have; a larger number counts something else."""
COUNT_WINDOW: Final = 4
"""Tokens between a number and what it counts: "три големи и светли спални"."""
AREA_LEAST: Final = 12
"""Square metres of the smallest flat."""
AREA_MOST: Final = 2000
"""Square metres of the largest flat."""
RECENT_YEARS: Final = 5
"""Years for which a flat that was renovated is a renovated one, where the advert says so."""
OF_ONE_FLAT: Final = 3
"""Most garages, or cellars, that are offered with one flat; more of them are the building's."""
OWNER_WINDOW: Final = 9
"""Tokens before a number of square metres in which its owner stands."""
EXPOSURE_WINDOW: Final = 8
"""Tokens between "изложение" and its winds."""
MEASURE_WINDOW: Final = 4
"""Tokens between a garage and its square metres: "гаражът е около 18 кв.м"."""
PARKING_WINDOW: Final = 8
"""Tokens around a parking place in which its terms stand."""
PARKING_SUM: Final = 3000
"""Smallest number beside a place for a car that is its price, whatever the money."""
SENTENCE_WINDOW: Final = 14
"""Tokens before and behind an act among which a payment makes it a date of paying."""
QUESTION_TOKENS: Final = 10
"""Tokens of the longest question; a longer one tells the offer in passing."""
AWAITED_FROM_YEAR: Final = 2026
"""From this year on an act with a date is a promise, before it a fact; to be raised with each revision."""
FLOOR_MOST: Final = 45
"""The highest floor in Sofia, and some."""
WEAK_RANK: Final = 3
"""Rules from this rank on are believed only while they do not contradict each other."""
METRO_MINUTES_MOST: Final = 60
"""A metro station farther than an hour's walk is not near."""
METRO_METRES_MOST: Final = 5000
"""As far as an hour's walk."""
YEAR_FIRST: Final = 1850
"""No flat that is sold in Sofia is older."""
YEAR_LAST: Final = 2060
"""No announced year is later."""
TEXT_CHARACTERS_ASKED: Final = 6000
"""Characters of a description that the model is shown; the longest real one has some four thousand."""
ANSWER_TOKENS_MOST: Final = 1024
"""Tokens of an answer; a model that goes on beyond it is lost in a loop."""
OLLAMA_MOST_BYTES: Final = 2_000_000
"""Largest answer of Ollama that is read: its words are a few thousand bytes, a model in its list some 500."""
OLLAMA_REASON_CHARACTERS: Final = 300
"""What is told of its words when it fails."""
LLM_DOMAIN: Final = "ollama"
"""The name under which the gate (limit, breaker, places) knows the model."""
LLM_QUEUE: Final = "sale_sofia_llm"
"""The Celery queue of enrichment: a slow model never takes a crawl's slot."""
ENRICH_BATCH: Final = 200
"""Descriptions read and written in one transaction."""
ENRICH_BEAT_SECONDS: Final = 900.0
"""How often workers look for descriptions to read, when LLM_ENABLED."""
HEALTH_SECONDS: Final = 3.0
"""Longest wait for Ollama to say which models it has."""
OLLAMA_START_SECONDS: Final = 60.0
"""Longest wait for an Ollama of ours to answer."""
OLLAMA_STOP_SECONDS: Final = 10.0
"""Time it has to leave before it is killed."""
DISAGREEMENTS_SHOWN: Final = 20
"""Disagreements that `enrich` prints, the newest."""
AREA_TOLERANCE: Final = 1.0
"""Square metres by which a rounded area may differ from the exact one."""
NUMBER_CHARACTERS: Final = 12
"""Characters of the longest number that is a size; a longer one is a telephone or an identifier."""
GLUED_LETTERS: Final = 6
"""Letters of the shortest word that may be two words without a space between them."""
DECIMALS: Final = 2
"""Decimals of an exact area."""
ENRICH_GRACE_SECONDS: Final = 600.0
"""Time an enrichment has beside the model's: reading by rules some hundred thousand descriptions."""
QUOTE_CHARACTERS: Final = 500
"""Characters of the longest quote that shows anything; a longer one is the text itself."""
WORD_LETTERS: Final = 60
"""Letters of the longest word that is looked up; a longer one is none."""
FAR_WINDOW: Final = 7
"""Tokens before its words in which a rule looks for the thing that they are told of."""
DESCRIPTION_MOST_CHARACTERS: Final = 50_000
"""Characters of a description that the rules read: the longest of real ones have 10 000."""


# Settings of reading descriptions.

MODEL_ALLOWED: Final = "a name of Ollama's, such as gemma3:4b"


def _check_model(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._/-]+(?::[A-Za-z0-9._-]+)?", name):
        raise ValueError(MODEL_ALLOWED)
    return name


class DescriptionSettings(BaseModel, defer_build=True):
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
    ollama_url: ServerUrl = described(
        "http://127.0.0.1:11434", SERVER_ALLOWED, "URL", "Where Ollama listens."
    )
    ollama_model: Annotated[str, AfterValidator(_check_model)] = described(
        "gemma3:4b",
        MODEL_ALLOWED,
        "model",
        "The model that is asked; it has to be there already (`ollama pull`).",
    )
    ollama_timeout: float = decimal(60.0, 0.1, 3600, "seconds", "Longest wait for one answer of the model.")
    llm_run_seconds: float = decimal(
        600.0, 0.1, 86_400, "seconds", "Longest time one enrichment spends on asking the model."
    )
    llm_requests_per_minute: float = decimal(
        60.0, 0.1, 6000, "requests per minute", "Most questions to the model, over all processes."
    )
    llm_concurrency: int = whole(1, 1, 16, "questions", "Questions to the model at once, over all processes.")
