"""A message of several flats is worded to fit its channel, so that none is cut or refused there."""

from pydantic import SecretStr

from sale_sofia.alerts.channels import Channel, ChannelSender
from sale_sofia.alerts.settings import LONGEST_BODY, LONGEST_SUBJECT
from tables import each_row

BESIDE_SUBJECT = 4096 - LONGEST_SUBJECT - 2  # Telegram counts the subject and a blank line
URLS = [
    (f"tgram://123456789:{'a' * 35}/12345", BESIDE_SUBJECT),
    (f"discord://{'1' * 18}/{'a' * 68}", 2000),
    ("mailto://user:word@example.com?to=other@example.com", LONGEST_BODY),
]


@each_row(("url", "characters"), URLS)
def test_a_channel_takes_so_many_characters_beside_the_subject(url: str, characters: int) -> None:
    channel = Channel("mine", SecretStr(url))
    assert ChannelSender(1.0).longest(channel) == characters
