"""Criteria: the buyer's profiles; each change is saved at once, and shows how many flats then pass."""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple, get_args
from urllib.parse import urlencode

from sale_sofia.advice.lessons import Lessons, ProposedChange, learn
from sale_sofia.advice.scoring.profile import (
    BREAKERS,
    OwnPlace,
    Profile,
    ProfileError,
    Tier,
    TrapName,
    edit_profile,
    load_profile,
    load_profiles,
    new_profile,
)
from sale_sofia.advice.scoring.scoring import Passing
from sale_sofia.advice.scoring.settings import PLACES_MOST, WEIGHTS
from sale_sofia.advice.scoring.store import stored_passing
from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import Done, WebPage
from sale_sofia.app.filters import Choice
from sale_sofia.app.visit import PageVisit, Values, changed_lines
from sale_sofia.app.words import mistakes, say, translate, word_for
from sale_sofia.geography.surroundings import ROAD_CLASSES
from sale_sofia.listings.model import Orientation, PropertyType
from sale_sofia.listings.places import neighbourhoods
from sale_sofia.settings.words import Said

Kind = Literal["number", "least", "switch", "several", "choice"]
"""A `least` is a number too, and may be left empty."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a profile; `key` is its path, such as `must.rooms_least`."""

    key: str
    kind: Kind = "number"
    options: tuple[str, ...] = ()
    vocabulary: str = ""
    """The vocabulary that names its options; empty: they are shown as they are."""


_SIDES: Final = get_args(Orientation)
_PLACES: Final = tuple(sorted({place.name for place in neighbourhoods()}))
_LEAST: Final = (
    "rooms_least", "area_least_sqm", "area_net_least_sqm", "bathrooms_least", "elevator_above_floor",
    "metro_most_minutes", "stop_most_minutes", "shop_most_minutes", "school_most_minutes",
)  # fmt: skip
_SWITCHES: Final = (
    "wanted_neighbourhood", "not_ground_floor", "not_last_floor", "not_panel", "act15_or_later",
    "balcony_or_garden",
)  # fmt: skip
SECTIONS: Final[Mapping[str, tuple[Field, ...]]] = {
    "money": (
        Field("budget_eur"),
        Field("renovation_eur"),
        Field("commission_percent"),
        Field("property_types", "several", get_args(PropertyType), "property_type"),
    ),
    "must": (
        *(Field(f"must.{name}", "least") for name in _LEAST),
        *(Field(f"must.{name}", "switch") for name in _SWITCHES),
        Field("must.road", "several", ROAD_CLASSES, "road"),
        Field("must.orientation", "several", _SIDES, "orientation"),
        Field("must.no_traps", "several", get_args(TrapName), "trap"),
        Field("unknown_ok", "several", BREAKERS, "breaker"),
    ),
    "wishes": (
        Field("wishes.rooms"),
        Field("wishes.bathrooms"),
        Field("wishes.area_net_sqm"),
        Field("wishes.orientation", "several", _SIDES, "orientation"),
    ),
    "places": (
        *(Field(f"neighbourhoods.{tier}", "several", _PLACES) for tier in get_args(Tier)),
        Field("neighbourhoods.others", "choice", get_args(Tier), "tier"),
    ),
    "weights": tuple(Field(f"weights.{name}") for name in WEIGHTS),
}
"""The fields of each section, which are shown and saved together."""
OWN: Final = "own"
"""The form of the buyer's own places, among the sections."""
ANOTHER: Final = "another"
"""The form of a new profile, among the sections."""
_WRITING: Final = threading.Lock()
"""A file is read, changed and written: without the lock, one of two forms sent at once would be lost."""


class Mistake(NamedTuple):
    """Why a form was refused, and what was typed in it."""

    section: str
    text: str
    typed: Mapping[str, Any]
    conflict: bool = False


def save(visit: PageVisit) -> WebPage | Done:
    """Save one section of the profile in the address, or create a profile; all of it or nothing."""
    if visit.form.get("section") == ANOTHER:
        return _create(visit)
    if visit.form.get("section") == OWN:
        return _change_places(visit)
    name, section = visit.param("profile") or "", visit.form.get("section", "")
    folder = visit.state.settings.data_dir
    if name not in visit.profiles or section not in SECTIONS:
        return Done(say("conflict"), back="/criteria", wrong=True)
    typed: Values = {}
    try:
        with _WRITING:
            before = load_profile(folder, name)
            if visit.form.get("stamp") != stamp_of(before, section):
                return _refuse(visit, Mistake(section, say("conflict"), {}, conflict=True))
            # Every field of the section: a box that is not ticked is not sent at all.
            typed = {
                field.key: _read(field, value_of(before, field.key), visit.form)
                for field in SECTIONS[section]
            }
            changes = [(key, value) for key, value in typed.items() if value != value_of(before, key)]
            after = edit_profile(folder, name, changes)[1] if changes else before
        if changes:
            visit.note_change("profile", name)
    except ProfileError as error:
        return _refuse(visit, Mistake(section, mistakes(error), typed))
    data = _summary(visit, name, after) | {"stamp": stamp_of(after, section)}
    return Done(say("criteria.saved", name=name), back=f"{address_of(name)}#{section}", data=data)


def _change_places(visit: PageVisit) -> WebPage | Done:
    """Add a place of the buyer's own to the profile in the address, or remove one."""
    name, folder, form = visit.param("profile") or "", visit.state.settings.data_dir, visit.form
    if name not in visit.profiles:
        return Done(say("conflict"), back="/criteria", wrong=True)
    typed = {key: form.get(key, "").strip() for key in ("name", "at", "arrive_by")}
    try:
        with _WRITING:
            before = load_profile(folder, name)
            if form.get("stamp") != own_stamp(before):
                return _refuse(visit, Mistake(OWN, say("conflict"), {}, conflict=True))
            places = _changed(before.places, form.get("remove"), typed)
            edit_profile(folder, name, [("places", places)])
        visit.note_change("profile", name)
    except ProfileError as error:
        return _refuse(visit, Mistake(OWN, mistakes(error), {OWN: typed}))
    return Done(say("criteria.saved", name=name), back=f"{address_of(name)}#{OWN}")


def _changed(before: Sequence[OwnPlace], removed: str | None, added: Mapping[str, str]) -> list[Values]:
    """The places without the removed one; or, where none is removed, with the added one."""
    places = [place.model_dump() for place in before if place.name != removed]
    if removed is not None:
        return places
    for place in before:
        if place.name.casefold() == added["name"].casefold():
            raise ProfileError(Said("wrong_profile.two_places", name=place.name))
    return [*places, {key: value for key, value in added.items() if value or key != "arrive_by"}]


def own_stamp(profile: Profile) -> str:
    """A digest of the buyer's own places, which changes with them."""
    places = [place.model_dump() for place in profile.places]
    return sha256(json.dumps(places).encode()).hexdigest()[:16]


def apply(visit: PageVisit) -> Done:
    """Apply an offered change to the profile in the address, if it is still on offer."""
    name = visit.param("profile") or ""
    if name not in visit.profiles:
        return Done(say("conflict"), back="/criteria", wrong=True)
    for lesson in _learn(visit, name, visit.profiles[name]).lessons:
        if lesson.offer and (lesson.offer.key, _stamped(lesson.offer)) == (
            visit.form.get("key"),
            visit.form.get("value"),
        ):
            try:
                edit_profile(visit.state.settings.data_dir, name, [(lesson.offer.key, lesson.offer.value)])
                visit.note_change("profile", name)
            except ProfileError as error:
                return Done(mistakes(error), wrong=True)
            return Done(say("criteria.saved", name=name), back=f"{address_of(name)}#learnt")
    return Done(say("conflict"), back=address_of(name), wrong=True)


def _learn(visit: PageVisit, name: str, profile: Profile) -> Lessons:
    visit.state.refresh(visit.profiles)
    return visit.database.run_read(lambda connection: learn(connection, name, profile))


def _stamped(offer: ProposedChange) -> str:
    return json.dumps(offer.value)


def _lesson_rows(learnt: Lessons) -> list[Values]:
    """Each reason as a sentence, with the change offered for it."""
    return [
        {
            "text": say(
                "learnt.line",
                n=fmt.number(lesson.flats),
                all=fmt.number(learnt.rejected),
                reason=say(f"reject.{lesson.reason}"),
            ),
            "why_not": say("learnt.out" if lesson.out == lesson.flats else "learnt.no_filter"),
            "offer": _offer_row(lesson.offer, learnt.fitting) if lesson.offer else None,
        }
        for lesson in learnt.lessons
    ]


def _offer_row(offer: ProposedChange, fitting: int) -> Values:
    field = next(
        candidate for fields in SECTIONS.values() for candidate in fields if candidate.key == offer.key
    )
    what = say(f"criteria.{offer.key}")
    if field.kind == "several":
        what = f"{what}: {', '.join(word_for(field.vocabulary, value) for value in offer.value)}"
    elif field.kind != "switch":
        what = f"{what}: {fmt.for_input(offer.value)}"
    counts = {"caught": offer.caught, "leaves": offer.leaves, "fitting": fitting}
    text = say("learnt.offer", what=what, **{name: fmt.number(count) for name, count in counts.items()})
    return {"text": text, "key": offer.key, "value": _stamped(offer)}


def _create(visit: PageVisit) -> WebPage | Done:
    """Create a profile as a copy of the one in the address."""
    name, original = visit.form.get("name", "").strip(), visit.param("profile") or ""
    try:
        with _WRITING:
            new_profile(visit.state.settings.data_dir, name, original)
        visit.note_change("profile", name, "made")
    except ProfileError as error:
        return _refuse(visit, Mistake(ANOTHER, mistakes(error), {"name": name}))
    return Done(say("criteria.saved", name=name), back=address_of(name))


def address_of(name: str) -> str:
    """The page of a profile."""
    return f"/criteria?{urlencode({'profile': name})}"


def value_of(profile: Profile, key: str) -> Any:  # noqa: ANN401 - of whatever type the field is
    """The value of a field; a tuple as a list."""
    value: Any = profile
    for name in key.split("."):
        value = getattr(value, name)
    return list(value) if isinstance(value, tuple) else value


def stamp_of(profile: Profile, section: str) -> str:
    """A digest of the section's values: a form with an old one was filled in from old values."""
    values = [value_of(profile, field.key) for field in SECTIONS[section]]
    return sha256(json.dumps(values).encode()).hexdigest()[:16]


def passing_of(visit: PageVisit, name: str) -> Passing:
    """How many of the flats on offer pass the stored profile of this name."""
    visit.state.refresh(load_profiles(visit.state.settings.data_dir).profiles)
    return visit.state.cached(
        ("passing", name), lambda: visit.database.run_read(partial(stored_passing, profile=name))
    )


def _read(field: Field, before: Any, form: Mapping[str, str]) -> object:  # noqa: ANN401 - of any type
    text = form.get(field.key, "")
    match field.kind:
        case "switch":
            return field.key in form
        case "choice":
            return text
        case "several":
            # In the order of the file, so that untouched values keep their places.
            ticked = [value for value in text.split("\n") if value]
            return [
                *(value for value in before if value in ticked),
                *(value for value in ticked if value not in before),
            ]
        case "least":
            return fmt.parse_number(text)
        case "number":
            return fmt.parse_number(text) if text.strip() else ""


def _refuse(visit: PageVisit, mistake: Mistake) -> WebPage | Done:
    """JSON for a script; else the page, with the message in its section and what was typed there."""
    if visit.asks_for_data:
        return Done(mistake.text, wrong=True, data={"conflict": mistake.conflict})
    return page(visit, mistake)


def page(visit: PageVisit, mistake: Mistake | None = None) -> WebPage:
    """The page; with the mistake in a form, and what was typed there."""
    name, profile = visit.profile_name, visit.profile
    typed = mistake.typed if mistake else {}
    sections = {
        section: {
            "stamp": stamp_of(profile, section),
            "fields": [
                _control(field, typed.get(field.key, value_of(profile, field.key))) for field in fields
            ],
        }
        for section, fields in SECTIONS.items()
    }
    broken = load_profiles(visit.state.settings.data_dir).mistakes
    values = {
        "name": name,
        "own_address": address_of(name),
        "sections": sections,
        "wrong_at": mistake,
        "new_name": typed.get("name", ""),
        "another": ANOTHER,
        "own": {
            "section": OWN,
            "stamp": own_stamp(profile),
            "places": profile.places,
            "full": len(profile.places) >= PLACES_MOST,
            "most": PLACES_MOST,
            "typed": typed.get(OWN, {"name": "", "at": "", "arrive_by": "09:00"}),
        },
        "learnt": _lesson_rows(_learn(visit, name, profile)),
        "changed": changed_lines(visit, "profile").get(name, ""),
        "broken": [translate(error) for error in broken.values()],
        **_summary(visit, name, profile),
    }
    status = 400 if mistake else 200
    return WebPage("criteria.html", say("page.criteria"), values, lambda: _data(visit, list(broken)), status)


def _control(field: Field, value: Any) -> Values:  # noqa: ANN401 - of any type
    chosen = value if field.kind == "several" else [value]
    choices = [
        Choice(option, word_for(field.vocabulary, option) if field.vocabulary else option, option in chosen)
        for option in field.options
    ]
    if not field.vocabulary:  # a long list: ticked options first
        choices.sort(key=lambda choice: not choice.chosen)
    text = fmt.for_input(value) if field.kind in {"number", "least"} else ""
    return {"key": field.key, "kind": field.kind, "text": text, "on": value is True, "choices": choices}


def _summary(visit: PageVisit, name: str, profile: Profile) -> dict[str, str]:
    """A profile's effect as text: how many flats pass, why others do not, what the weights count as."""
    passing = passing_of(visit, name)
    return {"count": count_text(passing), "only": _only(passing), "remark": _remark(profile)}


def count_text(passing: Passing) -> str:
    """`Подходящи: 12 от 37; неизвестно за 9`."""
    line = say("criteria.preview", all=fmt.number(passing.candidates), passing=fmt.number(passing.passing))
    return f"{line}; {say('criteria.unknown', n=fmt.number(passing.unknown))}" if passing.unknown else line


def _only(passing: Passing) -> str:
    """`Отпадат само заради едно условие: метро (9)`; empty where none does."""
    names = [f"{say(f'breaker.{name}')} ({fmt.number(count)})" for name, count in passing.only.items()]
    return say("criteria.only", names=", ".join(names)) if names else ""


def _remark(profile: Profile) -> str:
    """What the weights count as; empty where they add up to 100."""
    if profile.remark() is None:
        return ""
    shares = (
        f"{say(f'criterion.{name}')} {fmt.percent(share)}"
        for name, share in profile.shares().items()
        if share
    )
    return f"{say('criteria.normalised', total=fmt.for_input(profile.weights.total()))} {', '.join(shares)}"


def _data(visit: PageVisit, broken: Sequence[str]) -> Values:
    return {
        "profile": visit.profile_name,
        "profiles": list(visit.profiles),
        "unusable": broken,
        "values": visit.profile.model_dump(mode="json"),
        "passing": asdict(passing_of(visit, visit.profile_name)),
        "learnt": asdict(_learn(visit, visit.profile_name, visit.profile)),
    }
