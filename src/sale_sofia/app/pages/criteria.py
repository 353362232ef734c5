"""Criteria: the buyer's profiles, each field kept as it is changed, and at once how many flats then pass."""

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
from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Done, Page
from sale_sofia.app.filters import Choice
from sale_sofia.app.visit import Values, Visit, changed_lines
from sale_sofia.app.words import mistakes, named, say, told
from sale_sofia.buyer.changes import What, note_change
from sale_sofia.geography.surroundings import ROAD_CLASSES
from sale_sofia.listings.model import Orientation, PropertyType
from sale_sofia.listings.places import neighbourhoods
from sale_sofia.settings.words import Said

Kind = Literal["number", "least", "switch", "several", "choice"]
"""A `least` is a number too, and may be left empty."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a profile; `key` is its way there, such as `must.rooms_least`."""

    key: str
    kind: Kind = "number"
    options: tuple[str, ...] = ()
    vocabulary: str = ""
    """The kind of words by which its options are named; none: they name themselves."""


_SIDES: Final = get_args(Orientation)
_PLACES: Final = tuple(sorted({one.name for one in neighbourhoods()}))
_LEAST: Final = (
    "rooms_least", "area_least_sqm", "area_net_least_sqm", "bathrooms_least", "elevator_above_floor",
    "metro_most_minutes", "stop_most_minutes", "shop_most_minutes", "school_most_minutes",
)  # fmt: skip
_SWITCHES: Final = ("not_ground_floor", "not_last_floor", "not_panel", "act15_or_later", "balcony_or_garden")
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
"""What is changed beside each other, and kept together."""
OWN: Final = "own"
"""The form of the buyer's own places, among the sections."""
ANOTHER: Final = "another"
"""The form of a new profile, among the sections."""
_WRITING: Final = threading.Lock()
"""A file is read, changed and written: of two forms sent at once the second waits, or one would be lost."""


class Mistake(NamedTuple):
    """Why a form was refused, and what was typed there, to be put right."""

    section: str
    text: str
    given: Mapping[str, Any]
    conflict: bool = False


def save(visit: Visit) -> Page | Done:
    """Keep one section of the profile in the address, or begin another profile; all of it or nothing."""
    if visit.form.get("section") == ANOTHER:
        return _create(visit)
    if visit.form.get("section") == OWN:
        return _change_places(visit)
    name, section = visit.asked("profile") or "", visit.form.get("section", "")
    folder = visit.site.settings.data_dir
    if name not in visit.profiles or section not in SECTIONS:
        return Done(say("conflict"), back="/criteria", wrong=True)
    given: Values = {}
    try:
        with _WRITING:
            before = load_profile(folder, name)
            if visit.form.get("stamp") != stamp_of(before, section):
                return _refuse(visit, Mistake(section, say("conflict"), {}, conflict=True))
            # What the form says of every field of the section; a box that is not ticked is not sent at all.
            given = {
                field.key: _read(field, value_of(before, field.key), visit.form)
                for field in SECTIONS[section]
            }
            changes = [(key, value) for key, value in given.items() if value != value_of(before, key)]
            after = edit_profile(folder, name, changes)[1] if changes else before
        if changes:
            _note(visit, name)
    except ProfileError as error:
        return _refuse(visit, Mistake(section, mistakes(error), given))
    data = _told(visit, name, after) | {"stamp": stamp_of(after, section)}
    return Done(say("criteria.saved", name=name), back=f"{address_of(name)}#{section}", data=data)


def _change_places(visit: Visit) -> Page | Done:
    """Add a place of the buyer's own to the profile in the address, or remove one."""
    name, folder, form = visit.asked("profile") or "", visit.site.settings.data_dir, visit.form
    if name not in visit.profiles:
        return Done(say("conflict"), back="/criteria", wrong=True)
    given = {key: form.get(key, "").strip() for key in ("name", "at", "arrive_by")}
    try:
        with _WRITING:
            before = load_profile(folder, name)
            if form.get("stamp") != own_stamp(before):
                return _refuse(visit, Mistake(OWN, say("conflict"), {}, conflict=True))
            places = _changed(before.places, form.get("remove"), given)
            edit_profile(folder, name, [("places", places)])
        _note(visit, name)
    except ProfileError as error:
        return _refuse(visit, Mistake(OWN, mistakes(error), {OWN: given}))
    return Done(say("criteria.saved", name=name), back=f"{address_of(name)}#{OWN}")


def _changed(before: Sequence[OwnPlace], removed: str | None, added: Mapping[str, str]) -> list[Values]:
    """The places without the one that is removed; or, where none is, with one more."""
    places = [one.model_dump() for one in before if one.name != removed]
    if removed is not None:
        return places
    for one in before:
        if one.name.casefold() == added["name"].casefold():
            raise ProfileError(Said("wrong_profile.two_places", name=one.name))
    return [*places, {key: value for key, value in added.items() if value or key != "arrive_by"}]


def own_stamp(profile: Profile) -> str:
    """Another one when the buyer's own places are others."""
    places = [one.model_dump() for one in profile.places]
    return sha256(json.dumps(places).encode()).hexdigest()[:16]


def apply(visit: Visit) -> Done:
    """Change the profile in the address as was offered; nothing when that is no longer on offer."""
    name = visit.asked("profile") or ""
    if name not in visit.profiles:
        return Done(say("conflict"), back="/criteria", wrong=True)
    for one in _learn(visit, name, visit.profiles[name]).lessons:
        if one.offer and (one.offer.key, _stamped(one.offer)) == (
            visit.form.get("key"),
            visit.form.get("value"),
        ):
            try:
                edit_profile(visit.site.settings.data_dir, name, [(one.offer.key, one.offer.value)])
                _note(visit, name)
            except ProfileError as error:
                return Done(mistakes(error), wrong=True)
            return Done(say("criteria.saved", name=name), back=f"{address_of(name)}#learnt")
    return Done(say("conflict"), back=address_of(name), wrong=True)


def _learn(visit: Visit, name: str, profile: Profile) -> Lessons:
    visit.site.refresh(visit.profiles)
    return visit.database.run_read(lambda connection: learn(connection, name, profile))


def _stamped(offer: ProposedChange) -> str:
    return json.dumps(offer.value)


def _learnt(learnt: Lessons) -> list[Values]:
    """Each reason in a sentence, and what is offered for it."""
    return [
        {
            "text": say(
                "learnt.line",
                n=shown.number(one.flats),
                all=shown.number(learnt.rejected),
                reason=say(f"reject.{one.reason}"),
            ),
            "why_not": say("learnt.out" if one.out == one.flats else "learnt.no_filter"),
            "offer": _offered(one.offer, learnt.fitting) if one.offer else None,
        }
        for one in learnt.lessons
    ]


def _offered(offer: ProposedChange, fitting: int) -> Values:
    field = next(one for fields in SECTIONS.values() for one in fields if one.key == offer.key)
    what = say(f"criteria.{offer.key}")
    if field.kind == "several":
        what = f"{what}: {', '.join(named(field.vocabulary, one) for one in offer.value)}"
    elif field.kind != "switch":
        what = f"{what}: {shown.written(offer.value)}"
    counts = {"caught": offer.caught, "leaves": offer.leaves, "fitting": fitting}
    text = say("learnt.offer", what=what, **{name: shown.number(one) for name, one in counts.items()})
    return {"text": text, "key": offer.key, "value": _stamped(offer)}


def _create(visit: Visit) -> Page | Done:
    """A new profile with what stands in the one of the address."""
    name, like = visit.form.get("name", "").strip(), visit.asked("profile") or ""
    try:
        with _WRITING:
            new_profile(visit.site.settings.data_dir, name, like)
        _note(visit, name, "made")
    except ProfileError as error:
        return _refuse(visit, Mistake(ANOTHER, mistakes(error), {"name": name}))
    return Done(say("criteria.saved", name=name), back=address_of(name))


def _note(visit: Visit, name: str, what: What = "changed") -> None:
    """Keep who did so."""
    visit.database.run_write(partial(note_change, about="profile", name=name, what=what, by=visit.by))


def address_of(name: str) -> str:
    """The page of a profile."""
    return f"/criteria?{urlencode({'profile': name})}"


def value_of(profile: Profile, key: str) -> Any:  # noqa: ANN401 - of whatever type the field is
    """What stands in a field; a list as a list."""
    found: Any = profile
    for name in key.split("."):
        found = getattr(found, name)
    return list(found) if isinstance(found, tuple) else found


def stamp_of(profile: Profile, section: str) -> str:
    """Another one when anything in the section is another: who sends an old one has seen old values."""
    values = [value_of(profile, field.key) for field in SECTIONS[section]]
    return sha256(json.dumps(values).encode()).hexdigest()[:16]


def passing_of(visit: Visit, name: str) -> Passing:
    """How many of the flats on offer pass the profile of this name, as it is kept now."""
    visit.site.refresh(load_profiles(visit.site.settings.data_dir).profiles)
    return visit.site.kept(
        ("passing", name), lambda: visit.database.run_read(partial(stored_passing, profile=name))
    )


def _read(field: Field, stood: Any, form: Mapping[str, str]) -> object:  # noqa: ANN401 - of any type
    text = form.get(field.key, "")
    match field.kind:
        case "switch":
            return field.key in form
        case "choice":
            return text
        case "several":
            # In the order of the file, so that what nobody touched stays as it was written.
            ticked = [one for one in text.split("\n") if one]
            return [*(one for one in stood if one in ticked), *(one for one in ticked if one not in stood)]
        case "least":
            return shown.typed(text)
        case "number":
            return shown.typed(text) if text.strip() else ""


def _refuse(visit: Visit, mistake: Mistake) -> Page | Done:
    """To a script as data; else the page, with the sentence in its section and what was typed there."""
    if visit.asks_for_data:
        return Done(mistake.text, wrong=True, data={"conflict": mistake.conflict})
    return page(visit, mistake)


def page(visit: Visit, mistake: Mistake | None = None) -> Page:
    """The page; with what is wrong in a form, and what was typed there."""
    name, profile = visit.profile_name, visit.profile
    typed = mistake.given if mistake else {}
    sections = {
        section: {
            "stamp": stamp_of(profile, section),
            "fields": [_control(one, typed.get(one.key, value_of(profile, one.key))) for one in fields],
        }
        for section, fields in SECTIONS.items()
    }
    broken = load_profiles(visit.site.settings.data_dir).mistakes
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
        "learnt": _learnt(_learn(visit, name, profile)),
        "changed": changed_lines(visit, "profile").get(name, ""),
        "broken": [told(error) for error in broken.values()],
        **_told(visit, name, profile),
    }
    status = 400 if mistake else 200
    return Page("criteria.html", say("page.criteria"), values, lambda: _data(visit, list(broken)), status)


def _control(field: Field, value: Any) -> Values:  # noqa: ANN401 - of any type
    chosen = value if field.kind == "several" else [value]
    choices = [
        Choice(one, named(field.vocabulary, one) if field.vocabulary else one, one in chosen)
        for one in field.options
    ]
    if not field.vocabulary:  # a long list: who looks at it wants to see first what is ticked
        choices.sort(key=lambda one: not one.chosen)
    text = shown.written(value) if field.kind in {"number", "least"} else ""
    return {"key": field.key, "kind": field.kind, "text": text, "on": value is True, "choices": choices}


def _told(visit: Visit, name: str, profile: Profile) -> dict[str, str]:
    """What a profile comes to, in words: how many pass, why the others do not, what the weights count as."""
    passing = passing_of(visit, name)
    return {"count": count_text(passing), "only": _only(passing), "remark": _remark(profile)}


def count_text(passing: Passing) -> str:
    """`Подходящи: 12 от 37; неизвестно за 9`."""
    line = say(
        "criteria.preview", all=shown.number(passing.candidates), passing=shown.number(passing.passing)
    )
    return f"{line}; {say('criteria.unknown', n=shown.number(passing.unknown))}" if passing.unknown else line


def _only(passing: Passing) -> str:
    """`Отпадат само заради едно условие: метро (9)`; nothing where none does."""
    names = [f"{say(f'breaker.{name}')} ({shown.number(count)})" for name, count in passing.only.items()]
    return say("criteria.only", names=", ".join(names)) if names else ""


def _remark(profile: Profile) -> str:
    """What the weights count as; nothing where they are per cents."""
    if profile.remark() is None:
        return ""
    shares = (
        f"{say(f'criterion.{name}')} {shown.percent(one)}" for name, one in profile.shares().items() if one
    )
    return f"{say('criteria.normalised', total=shown.written(profile.weights.total()))} {', '.join(shares)}"


def _data(visit: Visit, broken: Sequence[str]) -> Values:
    return {
        "profile": visit.profile_name,
        "profiles": list(visit.profiles),
        "unusable": broken,
        "values": visit.profile.model_dump(mode="json"),
        "passing": asdict(passing_of(visit, visit.profile_name)),
        "learnt": asdict(_learn(visit, visit.profile_name, visit.profile)),
    }
