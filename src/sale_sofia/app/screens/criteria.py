"""Criteria: the buyer's profiles, each field to change, and at once how many flats would pass."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from sale_sofia.advice.scoring.profile import Profile, ProfileError, edit_profile, new_profile
from sale_sofia.app import criteria, formatting, state
from sale_sofia.app.criteria import SECTIONS, Field
from sale_sofia.app.formatting import decimal, percent
from sale_sofia.app.state import PARAMETER as PROFILE
from sale_sofia.app.state import chosen_profile
from sale_sofia.app.words import named, say

COLUMNS = 3


def page() -> None:
    """Draw the page."""
    name, profile = chosen_profile()
    st.title(say("page.criteria"))
    if kept := st.session_state.pop("criteria_kept", None):
        st.success(kept)
    told = st.container()
    given: dict[str, Any] = {}
    for section, fields in SECTIONS.items():
        st.header(say(f"criteria.section.{section}"))
        given |= _section(name, profile, fields)
    _preview(told, name, profile, given)
    _another(name)


def _section(name: str, profile: Profile, fields: tuple[Field, ...]) -> dict[str, Any]:
    given = {}
    for start in range(0, len(fields), COLUMNS):
        row = fields[start : start + COLUMNS]
        for column, field in zip(st.columns(COLUMNS), row, strict=False):
            with column:
                given[field.key] = _widget(name, profile, field)
    return given


def _widget(name: str, profile: Profile, field: Field) -> Any:  # noqa: ANN401 - of whatever type the field is
    value = criteria.value_of(profile, field.key)
    label, key = say(f"criteria.{field.key}"), f"criteria:{name}:{field.key}"
    if field.kind == "switch":
        return st.toggle(label, value=value, key=key)
    if field.kind in {"several", "choice"}:
        return _choice(label, key, field, value)
    if field.step < 1:
        return decimal(label, (0.0, field.most or 0.0, field.step), float(value), key)
    kind = int if field.kind == "least" or float(value).is_integer() else float
    return st.number_input(
        label,
        min_value=kind(1 if field.kind == "least" else 0),
        max_value=kind(field.most or 0),
        value=value if value is None else kind(value),
        step=kind(field.step),
        key=key,
        placeholder=say("criteria.any"),
    )


def _choice(label: str, key: str, field: Field, value: Any) -> Any:  # noqa: ANN401 - a text or several
    def shown(option: str) -> str:
        return named(field.vocabulary, option) if field.vocabulary else option

    if field.kind == "choice":
        return st.selectbox(label, field.options, field.options.index(value), format_func=shown, key=key)
    return st.multiselect(
        label, field.options, value, format_func=shown, key=key, placeholder=say("criteria.none"), wrap=True
    )


def _preview(place: Any, name: str, profile: Profile, given: Mapping[str, Any]) -> None:  # noqa: ANN401
    changes = criteria.changes_of(profile, given)
    with place:
        try:
            draft = criteria.draft_of(name, changes) if changes else profile
        except ProfileError as error:
            st.error(criteria.mistakes(error))
            return
        passing = criteria.preview_draft(draft) if changes else criteria.preview(profile)
        st.markdown(f"**{criteria.preview_line(passing)}**")
        if draft.remark():
            st.caption(say("criteria.normalised", total=f"{draft.weights.total():g}"), help=_shares(draft))
        if changes:
            st.warning(say("criteria.unsaved", n=len(changes)), icon="⚠️")
            st.button(say("criteria.save"), type="primary", on_click=_save, args=(name, changes), key="save")


def _shares(profile: Profile) -> str:
    told = (f"{say(f'criterion.{name}')} {percent(share)}" for name, share in profile.shares().items())
    return ", ".join(told)


def _save(name: str, changes: list[tuple[str, Any]]) -> None:
    try:
        edit_profile(state.settings().data_dir, name, changes)
    except ProfileError as error:
        st.session_state["criteria_wrong"] = criteria.mistakes(error)
        return
    st.session_state["criteria_kept"] = say("criteria.saved", name=formatting.markdown(name))


def _another(like: str) -> None:
    with st.expander(say("criteria.another")), st.form("another", border=False):
        st.text_input(say("criteria.name"), max_chars=40, key="criteria_name")
        st.form_submit_button(say("criteria.create", name=like), on_click=_create, args=(like,))
    if wrong := st.session_state.pop("criteria_wrong", None):
        st.error(wrong)


def _create(like: str) -> None:
    name = str(st.session_state["criteria_name"])
    try:
        new_profile(state.settings().data_dir, name, like)
    except ProfileError as error:
        st.session_state["criteria_wrong"] = criteria.mistakes(error)
        return
    st.session_state[PROFILE] = name
    st.session_state["criteria_kept"] = say("criteria.saved", name=formatting.markdown(name))


page()
