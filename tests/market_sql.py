"""The market worked out a second time, in SQL by hand (SQLite), sharing nothing with the program's own."""

from typing import Any

from sqlalchemy import Connection, text

MERGED = ("deal", "property_type", "city", "neighbourhood", "rooms", "area_sqm")


def _fact(name: str) -> str:
    """What most adverts of a property say; of equally many what was seen last."""
    return f"""
    fact_{name} AS (
      SELECT property_id, {name} FROM (
        SELECT property_id, {name}, ROW_NUMBER() OVER (
          PARTITION BY property_id ORDER BY COUNT(*) DESC, MAX(last_seen_at) DESC, MAX(id) DESC) AS place
        FROM advert WHERE {name} IS NOT NULL GROUP BY property_id, {name})
      WHERE place = 1),"""  # noqa: S608 - names of columns, written above


BASE = f"""
WITH RECURSIVE
    advert AS (
      SELECT listings.*, listing_sources.property_id
      FROM listings JOIN listing_sources ON listing_sources.listing_id = listings.id),
    {"".join(_fact(name) for name in MERGED)}
    flat AS (
      SELECT property_id, neighbourhood, area_sqm,
        CASE WHEN property_type = 'maisonette' THEN 'maisonette' WHEN rooms IS NULL THEN '?'
          WHEN rooms >= 5 THEN '5+' ELSE CAST(rooms AS TEXT) END AS rooms
      FROM fact_deal JOIN fact_property_type USING (property_id) JOIN fact_city USING (property_id)
        JOIN fact_neighbourhood USING (property_id) LEFT JOIN fact_rooms USING (property_id)
        LEFT JOIN fact_area_sqm USING (property_id)
      WHERE deal = 'sale' AND city = 'София' AND property_type IN ('apartment', 'maisonette')
        AND NOT EXISTS (
          SELECT 1 FROM advert, json_each(advert.flags) AS flag
          WHERE advert.property_id = fact_deal.property_id AND flag.value = 'place_conflict')),
    real AS (
      SELECT advert.id, advert.property_id, first_seen_at, closed_at
      FROM advert JOIN flat USING (property_id)
      WHERE closed_reason IS NULL OR closed_reason <> 'withdrawn'),
    event AS (
      SELECT id AS listing_id, first_seen_at AS at, 'back' AS kind, 0 AS turn FROM real
      UNION ALL SELECT listing_id, at, kind, market_events.id
        FROM market_events JOIN real ON real.id = listing_id
      UNION ALL SELECT id, closed_at, 'gone', 1000000000 FROM real WHERE closed_at IS NOT NULL),
    advert_end AS (
      SELECT id, property_id, (
        SELECT MIN(at) FROM event WHERE listing_id = real.id AND kind = 'gone'
          AND at >= (SELECT MAX(at) FROM event AS b WHERE b.listing_id = real.id AND b.kind = 'back')
      ) AS ended_at FROM real),
    life AS (
      SELECT property_id, MIN(first_seen_at) AS first_at,
        CASE WHEN COUNT(*) = COUNT(ended_at) THEN MAX(ended_at) END AS gone_at
      FROM real JOIN advert_end USING (id, property_id) GROUP BY property_id),
    monday AS (
      SELECT (CAST((:now + 10800) / 86400 AS INTEGER) - (CAST((:now + 10800) / 86400 AS INTEGER) + 3) % 7)
        * 86400.0 - 10800 AS start_at),
    week AS (
      SELECT 0 AS back, start_at, :now AS end_at FROM monday
      UNION ALL SELECT back + 1, start_at - 604800, start_at FROM week WHERE back < :weeks),
    price AS (
      SELECT week.back, real.property_id, (
        SELECT CASE vat WHEN 'excluded' THEN price_eur * 1.2 ELSE price_eur END
        FROM price_points WHERE listing_id = real.id AND seen_at <= week.end_at AND kind != 'printed_before'
        ORDER BY seen_at DESC, id DESC LIMIT 1) AS eur
      FROM week CROSS JOIN real
      WHERE (SELECT kind FROM event WHERE listing_id = real.id AND at <= week.end_at
             ORDER BY at DESC, turn DESC LIMIT 1) = 'back'),
    there AS (
      SELECT back, property_id, MIN(eur) AS eur FROM price GROUP BY back, property_id),
    part AS (
      SELECT property_id, area_sqm, CASE WHEN place THEN neighbourhood END AS neighbourhood,
        CASE WHEN kind THEN rooms END AS rooms
      FROM flat JOIN life USING (property_id)
        CROSS JOIN (SELECT 0 AS place UNION SELECT 1) CROSS JOIN (SELECT 0 AS kind UNION SELECT 1)),
    began AS (
      SELECT part.neighbourhood, MIN(first_at) AS began_at
      FROM part JOIN life USING (property_id) WHERE part.rooms IS NULL GROUP BY part.neighbourhood)
"""  # noqa: S608 - written here, from names above
STOCK = """
SELECT neighbourhood, rooms, back, COUNT(*), COUNT(eur / area_sqm)
FROM part JOIN there USING (property_id) GROUP BY neighbourhood, rooms, back"""
QUANTILE = """
, ranked AS (
    SELECT neighbourhood, rooms, back, eur / area_sqm AS eur_sqm,
      ROW_NUMBER() OVER (PARTITION BY neighbourhood, rooms, back ORDER BY eur / area_sqm) - 1 AS place,
      (COUNT(*) OVER (PARTITION BY neighbourhood, rooms, back) - 1) * :share AS wanted
    FROM part JOIN there USING (property_id) WHERE eur / area_sqm IS NOT NULL)
SELECT neighbourhood, rooms, back,
  SUM(eur_sqm * CASE WHEN place = CAST(wanted AS INTEGER) THEN 1 - (wanted - CAST(wanted AS INTEGER))
      WHEN place = CAST(wanted AS INTEGER) + 1 THEN wanted - CAST(wanted AS INTEGER) ELSE 0 END)
FROM ranked GROUP BY neighbourhood, rooms, back"""
MOVES = """
SELECT part.neighbourhood, part.rooms, back,
  CASE WHEN start_at < began_at THEN NULL
    ELSE SUM(first_at >= start_at AND (first_at < end_at OR back = 0)) END,
  SUM(gone_at IS NOT NULL AND gone_at >= start_at AND (gone_at < end_at OR back = 0))
FROM part JOIN life USING (property_id) JOIN began ON began.neighbourhood IS part.neighbourhood
  JOIN week ON back = 0 OR end_at > began_at
GROUP BY part.neighbourhood, part.rooms, back"""
STAYS = """
SELECT neighbourhood, rooms, (COALESCE(gone_at, :now) - first_at) / 86400.0, gone_at IS NOT NULL
FROM part JOIN life USING (property_id)"""
CUTS = """
, said AS (
    SELECT listing_id, property_id, kind, id, seen_at,
      CASE vat WHEN 'excluded' THEN price_eur * 1.2 ELSE price_eur END AS eur
    FROM price_points JOIN (SELECT id AS listing_id, property_id FROM real) USING (listing_id)
    WHERE price_eur IS NOT NULL AND kind != 'printed_before'),
  step AS (
    SELECT property_id, kind, eur, LAG(eur) OVER (PARTITION BY listing_id ORDER BY seen_at, id) AS before
    FROM said)
SELECT neighbourhood, rooms, property_id, 100 * (1 - step.eur / before)
FROM part JOIN there USING (property_id) JOIN step USING (property_id)
WHERE back = 0 AND kind = 'price' AND step.eur < before"""


def ask(connection: Connection, query: str, **given: float) -> list[tuple[Any, ...]]:
    """The rows of one of the questions above."""
    return [tuple(row) for row in connection.execute(text(BASE + query), given)]
