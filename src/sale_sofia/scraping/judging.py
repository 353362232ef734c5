"""One answer: classified, parsed, and called by its right name. Nothing is fetched or stored here."""

from dataclasses import dataclass, replace
from datetime import datetime

from sale_sofia.data.cards import SeenCard, card_hash
from sale_sofia.fetching.base import Response, Verdict
from sale_sofia.fetching.classify import classify, disguised_block
from sale_sofia.listings.normalise import normalise_seen
from sale_sofia.listings.page import Page
from sale_sofia.listings.page_errors import PageError, ProjectPage, RemovedListing, WrongListing
from sale_sofia.resilience.errors import ParseError, ParseSelector
from sale_sofia.scraping.error_classes import classify_error, error_of
from sale_sofia.scraping.frontier import Claim
from sale_sofia.scraping.outcomes import Found, Gone, NotModified, Read
from sale_sofia.scraping.urls import target
from sale_sofia.websites.base import SearchPage, Site


@dataclass(frozen=True, slots=True)
class Judge:
    """Reads answers of one portal. `proof` are bytes of which every good page holds one."""

    site: Site
    proof: tuple[bytes, ...] = ()

    def outcome(self, claim: Claim, response: Response, now: datetime) -> Found | Read | NotModified | Gone:
        """What the answer says.

        Raises:
            CrawlError: it is not the page asked for, or cannot be read.
        """
        verdict = classify(response, claim.url, now, proof=self.proof)
        if verdict.kind == "removed":
            return Gone(claim, "removed")
        if verdict.kind == "not_modified" and claim.kind == "listing":
            return NotModified(claim)
        if verdict.kind not in {"ok", "redirected"}:
            raise error_of(verdict, response.status)
        moved = verdict.kind == "redirected" and claim.kind == "search"
        try:
            outcome = self._read(claim, page_of(claim, response), response)
            return replace(outcome, moved=moved) if isinstance(outcome, Found) else outcome
        except (ProjectPage, RemovedListing) as what:
            return Gone(claim, what.code)
        except PageError as what:
            error = self._unreadable(response, what)
            if moved and isinstance(error, ParseSelector):
                return Gone(claim, "redirected")  # to something else than results: there is no such search
            raise error from what
        except MemoryError:
            raise  # not for us to say: whoever set the limit knows what it means
        except Exception as what:
            # Our own mistake, on one page of many: a person must look, the others go on.
            raise ParseError(f"{type(what).__name__}: {what}") from what

    def _read(self, claim: Claim, page: Page, response: Response) -> Found | Read:
        if claim.kind == "search":
            return self._found(claim, self.site.search(page))
        listing, seen = normalise_seen(self.site.listing(page))
        etag, last_modified = response.headers.get("etag"), response.headers.get("last-modified")
        return Read(claim, listing, etag, last_modified, seen)

    def _found(self, claim: Claim, page: SearchPage) -> Found:
        """What the page says; what follows from it is decided where all pages of its search are known."""
        adverts = tuple(
            (
                SeenCard(card.external_id, card_hash(card.facts), card.filling(page.fills)),
                target(self.site, card.url),
            )
            for card in page.cards
        )
        return Found(
            claim,
            adverts,
            following=target(self.site, page.next_url) if page.next_url else None,
            sitemaps=tuple(target(self.site, url) for url in page.further),
            total=page.total,
            exact=page.exact,
            capped=page.capped,
            last_page=page.last_page,
            most=page.most,
            most_pages=page.most_pages,
            stale_pages=page.stale_pages,
            ids=page.ids,
            cards=tuple(card.reading for card in page.cards),
            section=page.section,
        )

    def _unreadable(self, response: Response, what: PageError) -> Exception:
        """A captcha where the advert should be is a block; a page without one is for a person to look at."""
        block: Verdict | None = None
        if not isinstance(what, WrongListing):
            block = disguised_block(response, proof=self.proof)
        error = error_of(block, response.status) if block else classify_error(what)
        error.status = response.status
        return error


def page_of(claim: Claim, response: Response) -> Page:
    """The answer as the page that was asked for."""
    return Page(claim.url, response.body, response.headers.get("content-type"))
