"""Settings of matching adverts to properties and of agencies."""

from pydantic import BaseModel, field_validator
from pydantic_core.core_schema import ValidationInfo

from sale_sofia.config.settings_types import decimal, switch, whole


class PropertySettings(BaseModel):
    """Settings of matching adverts to properties and of agencies."""

    match_after_crawl: bool = switch(
        default=True, sentence="Match new adverts to properties when a crawl ends."
    )
    match_review_probability: float = decimal(
        0.7,
        0.01,
        1,
        "probability",
        "From here on two adverts are shown to the buyer as perhaps one property.",
    )
    match_link_probability: float = decimal(
        0.97, 0.5, 1, "probability", "From here on two adverts are one property; not below the review's."
    )
    property_alarm_adverts: int = whole(
        10, 2, 10_000, "adverts", "A property with more adverts than this is an incident."
    )
    private_seller_flats: int = whole(
        10, 2, 10_000, "properties", "A private seller with so many flats is marked as an agency in disguise."
    )
    private_phones_kept: bool = switch(
        default=False,
        sentence="Keep phones of private sellers when their advert has ended; off: only a hash.",
    )

    @field_validator("match_link_probability")
    @classmethod
    def _not_below_review(cls, link: float, info: ValidationInfo) -> float:
        review = info.data.get("match_review_probability", 0.0)
        if link < review:
            raise ValueError(f"not less than MATCH_REVIEW_PROBABILITY, which is {review}")
        return link
