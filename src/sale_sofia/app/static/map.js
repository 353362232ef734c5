// The map: Sofia drawn from our own vectors, and what the server found for this part and zoom.
"use strict";

const place = document.getElementById("map");
place.hidden = false;
document.getElementById("map-legend").hidden = false;
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const ink = dark ? { main: "#59677a", street: "#39434f", tram: "#39434f", ring: "#6f7e90", border: "#56616d" } : { main: "#c3ccd4", street: "#dde3e8", tram: "#dde3e8", ring: "#aab4be", border: "#aab4be" };
const params = new URLSearchParams(location.search);
const view = (params.get("at") ?? "42.695,23.325,12").split(",").map(Number);
const map = L.map(place, { preferCanvas: true, minZoom: 10, maxZoom: 18, zoomSnap: 0.5 }).setView(view.slice(0, 2), view[2]);
map.attributionControl.setPrefix(false).addAttribution(place.dataset.attribution);
const places = L.layerGroup().addTo(map), pins = L.layerGroup().addTo(map), metro = L.layerGroup().addTo(map);
const borders = new Map();

function label(at, text, kind) {
  const words = document.createElement("span");
  words.textContent = text;
  return L.marker(at, { interactive: false, keyboard: false, icon: L.divIcon({ className: `map-${kind}`, html: words, iconSize: null }) });
}

async function drawCity() {
  const city = await (await fetch(`/map/base.json?v=${place.dataset.version}`)).json();
  for (const [kind, lines] of Object.entries(city.roads))
    L.polyline(lines, { color: ink[kind], weight: kind === "main" || kind === "ring" ? 3 : 1, interactive: false }).addTo(map);
  for (const line of city.metro) {
    L.polyline(line.stations.map(([, lat, lon]) => [lat, lon]), { color: line.colour, weight: 3, opacity: 0.75, interactive: false }).addTo(metro);
    for (const [name, lat, lon] of line.stations)
      L.circleMarker([lat, lon], { radius: 4, color: line.colour, fillColor: "#fff", fillOpacity: 1, weight: 2 }).bindTooltip(`Ⓜ ${name}`).addTo(metro);
  }
  for (const one of city.places) borders.set(one.name, one);
  for (const [name, at] of city.names) { const road = label(at, name, "road"); roads.push(road); }
}
const roads = [];

async function drawFlats() {
  const box = map.getBounds(), zoom = Math.round(map.getZoom());
  const asked = new URLSearchParams(params);
  asked.delete("at");
  asked.set("zoom", zoom);
  asked.set("box", [box.getSouth(), box.getWest(), box.getNorth(), box.getEast()].map((one) => one.toFixed(5)).join(","));
  const found = await (await fetch(`/map.json?${asked}`)).json();
  places.clearLayers();
  pins.clearLayers();
  for (const one of found.places) {
    const known = borders.get(one.name);
    if (!known) continue;
    const unplaced = one.n - one.placed;
    // Flats without a point of their own are somewhere in their neighbourhood: its dashed border stands for them.
    if (known.rings.length) L.polygon(known.rings.map((ring) => [ring]), { color: ink.border, weight: 1.5, dashArray: unplaced ? "6 5" : null, fillOpacity: found.near ? 0 : 0.12, interactive: false }).addTo(places);
    const words = document.createElement("a");
    words.href = one.search;
    words.textContent = found.near ? `${one.name}: ${unplaced} ${place.dataset.unplaced}` : [one.name, one.median, `(${one.n})`].filter(Boolean).join(" ");
    if (!found.near || unplaced) L.marker(known.at, { keyboard: false, icon: L.divIcon({ className: "map-place", html: words, iconSize: null }) }).addTo(places);
  }
  thin();
  if (found.near) for (const pin of found.pins) {
    const words = document.createElement("span");
    words.textContent = pin.n > 1 ? `${pin.n} × ${pin.price}+` : pin.price;
    const icon = L.divIcon({ className: `map-pin${pin.good ? " fits" : ""}${pin.n > 1 ? " many" : ""}`, html: words, iconSize: null });
    L.marker(pin.at, { icon, title: words.textContent, alt: words.textContent }).on("click keypress", () => (pin.id ? open(pin.id) : map.setView(pin.at, map.getZoom() + 2))).addTo(pins);
  }
  for (const road of roads) zoom >= 14 ? road.addTo(map) : road.remove();
}

// Names that would cover each other: the one with more flats stays, the others come when one looks closer.
function thin() {
  const taken = [];
  places.eachLayer((layer) => {
    const element = layer.getElement?.();
    if (!element?.classList.contains("map-place")) return;
    const box = element.firstChild.getBoundingClientRect();
    const covers = taken.some((one) => box.left < one.right && box.right > one.left && box.top < one.bottom && box.bottom > one.top);
    if (covers) element.hidden = true; else taken.push(box);
  });
}

async function open(id) {
  const sheet = document.getElementById("map-card");
  sheet.innerHTML = await (await fetch(`/map/card/${id}`)).text();  // made and escaped by our own server
  sheet.scrollIntoView({ block: "nearest" });
}

let waiting = null;
map.on("moveend", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const at = map.getCenter();
    params.set("at", `${at.lat.toFixed(4)},${at.lng.toFixed(4)},${map.getZoom()}`);
    history.replaceState(null, "", `?${params}`);
    drawFlats();
  }, 150);
});
drawCity().then(drawFlats);
