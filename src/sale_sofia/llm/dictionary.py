"""What a description says, by rules and words alone: no network, no model, the same answer every time."""

from collections.abc import Iterator, Sequence
from itertools import chain

from sale_sofia.config.llm import DESCRIPTION_MOST_CHARACTERS
from sale_sofia.llm.attributes import Attributes
from sale_sofia.llm.candidates import Candidate, find_candidates
from sale_sofia.llm.consistency import keep_consistent
from sale_sofia.llm.counting import find_counts
from sale_sofia.llm.measuring import find_areas
from sale_sofia.llm.orientation import find_winds
from sale_sofia.llm.papers import settle_acts
from sale_sofia.llm.parking import find_parking
from sale_sofia.llm.prepared import prepare
from sale_sofia.llm.resolve import resolve
from sale_sofia.llm.tokens import Token, tokenize


def read_description(text: str) -> Attributes:
    """Every field the text speaks of, each with its status and the words it came from.

    What stands behind the first `DESCRIPTION_MOST_CHARACTERS` is not read.
    """
    prepared = prepare(text[:DESCRIPTION_MOST_CHARACTERS])
    tokens = tokenize(prepared)
    return resolve(_all_candidates(tokens), tokens, prepared)


def _all_candidates(tokens: Sequence[Token]) -> Iterator[Candidate]:
    found = find_candidates(tokens)
    acts = [one for one in found if one.field == "act"]
    others = (one for one in found if one.field != "act")
    return keep_consistent(
        chain(
            others,
            settle_acts(acts, tokens),
            find_counts(tokens),
            find_areas(tokens),
            find_winds(tokens),
            find_parking(tokens),
        )
    )
