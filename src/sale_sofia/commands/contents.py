"""All commands, by what they are for: where each is, and what `sale-sofia --help` says of it."""

from typing import Final

from sale_sofia.commands.lazy_group import Contents

CONTENTS: Final[Contents] = {
    "Begin here": {
        "demo": ("demo:demo", "Crawl two simulated portals and show them."),
        "crawl": ("crawl:crawl", "Crawl portals; stopped or killed, it goes on from there."),
        "dashboard": ("dashboard:dashboard", "Show flats, market and crawls in the browser."),
        "doctor": ("doctor:doctor", "Check that this machine is ready."),
        "settings": ("settings:settings", "Print every setting and what is allowed."),
    },
    "Find a flat": {
        "search": ("search:app", "Find flats by what you want; keep searches."),
        "properties": ("properties:app", "Each flat once, with all its adverts."),
        "score": ("score:score", "Rank flats for a profile, or explain one score."),
        "profiles": ("profiles:app", "What each buyer looks for."),
        "value": ("valuation:value", "Tell the fair price of a property."),
        "market": ("market:market", "Show asking prices by neighbourhood."),
        "changes": ("changes:changes", "Show what is new, changed, gone or back."),
        "price-history": ("changes:price_history_command", "Show every price an advert had."),
        "alerts": ("alerts:app", "Be told of what is new, by mail, chat or hook."),
        "agencies": ("properties:agencies", "List who sells."),
        "match": ("properties:match", "Find which adverts are the same flat."),
    },
    "Decide on it": {
        "shortlist": ("evaluation:shortlist", "Put a property on the shortlist, or show that."),
        "reject": ("evaluation:reject", "Leave a property out of searches and alerts."),
        "mark": ("evaluation:mark", "Give a property any status."),
        "decide": ("evaluation:decide", "Note your decision on a property."),
        "note": ("evaluation:note", "Add a note on a property, or show its notes."),
        "renovation": ("evaluation:renovation", "Note what you reckon renovation costs."),
        "viewing": ("viewings:app", "Plan viewings, and note how they were."),
        "evaluation": ("evaluation:evaluation", "Show all that you said of a property."),
    },
    "Watch the crawls": {
        "status": ("overview:status", "Show how fresh each portal's adverts are."),
        "jobs": ("overview:jobs", "List the newest jobs and how each ended."),
        "resume": ("crawl:resume", "Go on with crawls that were stopped or killed."),
        "cancel": ("overview:cancel", "End a job for good."),
        "report": ("report:report", "Show how runs went beside what is usual."),
        "sweeps": ("changes:sweeps", "List sweeps, and what each found gone."),
        "errors": ("errors:errors", "Show what went wrong lately."),
        "circuits": ("gates:circuits", "Show which portals are asked at all."),
        "rate": ("gates:rate", "Change a portal's rate while workers crawl."),
    },
    "Portals, pages and texts": {
        "sites": ("sites:app", "The portals: list, check, mend, add one."),
        "parse": ("pages:parse", "Read saved pages, as JSON."),
        "reparse": ("reparsing:reparse", "Extract everything again from archived pages."),
        "extract": ("extract:extract", "Read what a description says."),
        "enrich": ("extract:enrich", "Read the descriptions of all stored adverts."),
        "simulate": ("simulate:app", "Serve portals that exist only here."),
    },
    "Run it for long": {
        "up": ("services:up", "Start the services of the parallel mode."),
        "down": ("services:down", "Stop what `up` started."),
        "worker": ("services:worker", "Be a Celery worker."),
        "beat": ("services:beat", "Be the Celery beat, which keeps the schedule."),
        "flower": ("services:flower", "Be Flower, the viewer of tasks."),
        "metrics": ("metrics:metrics", "Serve metrics for Prometheus."),
        "proxies": ("proxies:app", "Add, check and watch proxies."),
        "rotator": ("proxy_services:rotator", "Be one address in front of all proxies."),
    },
    "Keep it safe": {
        "backup": ("backup:app", "Back up everything into one file; list, verify."),
        "restore": ("restore:restore", "Put a backup back."),
        "export": ("exporting:export", "Write all adverts to a CSV, JSON or Parquet file."),
        "prune": ("pruning:prune", "Remove what is old: pages, reports, rows."),
        "db": ("databases:app", "Bring the database up to date, check it, copy it."),
    },
}
