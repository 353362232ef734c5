// The map: Sofia drawn from our own vectors, what the server found for this part and zoom, and what is picked on it.
// On its own page the address holds what is asked; on the page of a search the form does, whose count is told meanwhile.
"use strict";

const place = document.getElementById("map"), form = document.querySelector("form[data-live]");
place.hidden = false;
for (const id of ["map-legend", "map-tools"]) document.getElementById(id)?.removeAttribute("hidden");
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const ink = dark ? { main: "#59677a", street: "#39434f", tram: "#39434f", ring: "#6f7e90", border: "#56616d", picked: "#7db3f5", park: "#24402c" } : { main: "#aebac6", street: "#d3dae1", tram: "#d3dae1", ring: "#8f9ca9", border: "#7f8d9b", picked: "#1d5fb4", park: "#cfe6cf" };
let params = new URLSearchParams(location.search);
const view = () => (params.get("at") ?? "42.695,23.325,12").split(",").map(Number);
const map = L.map(place, { preferCanvas: true, minZoom: 10, maxZoom: 18, zoomSnap: 0.5 }).setView(view().slice(0, 2), view()[2]);
map.attributionControl.setPrefix(false).addAttribution(place.dataset.attribution);
const ground = L.layerGroup().addTo(map), places = L.layerGroup().addTo(map), outlines = L.layerGroup().addTo(map), sketch = L.layerGroup().addTo(map), pins = L.layerGroup().addTo(map), metro = L.layerGroup().addTo(map), own = L.layerGroup().addTo(map);
const borders = new Map(), roads = [];
let near = false;

// What is asked. `held` is what is picked, as the server spells it.
const held = { neighbourhood: [], polygon: [] };

function asked(changed = {}) {
  const found = form ? new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== "")) : new URLSearchParams(params);
  for (const [name, values] of Object.entries(changed)) { found.delete(name); for (const value of values) found.append(name, value); }
  return found;
}

function ask(name, values) {
  held[name] = values;
  if (form) {
    for (const field of form.querySelectorAll(`input[name="${name}"]`))
      if (field.type === "checkbox") field.checked = values.includes(field.value); else field.remove();
    if (name === "polygon") form.append(...values.map((value) => Object.assign(document.createElement("input"), { type: "hidden", name, value })));
    form.dispatchEvent(new Event("input", { bubbles: true }));
  } else {
    params = asked({ [name]: values });
    history.pushState(null, "", `?${params}`);
  }
  drawFlats();
}

function pick(name, value) {
  const now = held[name];
  ask(name, now.includes(value) ? now.filter((one) => one !== value) : [...now, value]);
}

addEventListener("popstate", () => {
  if (form) return;
  params = new URLSearchParams(location.search);
  map.setView(view().slice(0, 2), view()[2]);
  drawFlats();
});

function label(at, text, kind) {
  const words = document.createElement("span");
  words.textContent = text;
  return L.marker(at, { interactive: false, keyboard: false, icon: L.divIcon({ className: `map-${kind}`, html: words, iconSize: null }) });
}

async function drawCity() {
  const city = await (await fetch(`/map/base.json?v=${place.dataset.version}`)).json();
  // Only who has imported them sees parks and districts.
  for (const rings of city.parks) L.polygon(rings.map((ring) => [ring]), { stroke: false, fillColor: ink.park, fillOpacity: 0.5, interactive: false }).addTo(ground);
  for (const rings of city.districts) L.polygon(rings.map((ring) => [ring]), { color: ink.ring, weight: 1, fill: false, interactive: false }).addTo(ground);
  for (const one of city.places) {
    borders.set(one.name, one);
    // Each can be tapped, also where nothing was found.
    if (one.rings.length) L.polygon(one.rings.map((ring) => [ring]), { stroke: false, fillOpacity: 0 }).on("click", () => { if (!corners && !near) pick("neighbourhood", one.name); }).addTo(ground);
  }
  for (const [kind, lines] of Object.entries(city.roads))
    L.polyline(lines, { color: ink[kind], weight: kind === "main" || kind === "ring" ? 3 : 1, interactive: false }).addTo(map);
  for (const line of city.metro) {
    L.polyline(line.stations.map(([, lat, lon]) => [lat, lon]), { color: line.colour, weight: 3, opacity: 0.75, interactive: false }).addTo(metro);
    for (const [name, lat, lon] of line.stations)
      L.circleMarker([lat, lon], { radius: 4, color: line.colour, fillColor: "#fff", fillOpacity: 1, weight: 2 }).bindTooltip(`Ⓜ ${name}`).addTo(metro);
  }
  for (const [name, at] of city.names) roads.push(label(at, name, "road"));
}

let latest = 0;
async function drawFlats() {
  const turn = ++latest, box = map.getBounds(), zoom = Math.round(map.getZoom());
  const question = asked();
  question.delete("at");
  question.set("zoom", zoom);
  question.set("box", [box.getSouth(), box.getWest(), box.getNorth(), box.getEast()].map((one) => one.toFixed(5)).join(","));
  const answer = await fetch(`/map.json?${question}`);
  if (answer.status === 401) { location.reload(); return; }  // asks for a sign-in
  const found = await answer.json();
  await city;  // asked for meanwhile
  if (turn !== latest) return;  // a newer question was asked
  complain(found.errors?.[0]);
  if (found.errors) return;
  near = found.near;
  for (const name of Object.keys(held)) held[name] = found.chips.filter((one) => one.field === name).map((one) => one.value);
  tellAsked(found);
  drawPlaces(found);
  drawPins(found);
  own.clearLayers();
  for (const one of found.own) label(one.at, `⌂ ${one.name}`, "own").addTo(own);
  outlines.clearLayers();
  for (const outline of held.polygon) L.polygon(outline.split(";").map((corner) => corner.split(",").map(Number)), { color: ink.picked, weight: 3, fillOpacity: 0.06, interactive: false }).addTo(outlines);
  for (const road of roads) zoom >= 14 ? road.addTo(map) : road.remove();
}

function complain(sentence) {
  const told = document.getElementById("map-wrong");
  told.textContent = sentence ?? "";
  told.hidden = !sentence;
}

function tellAsked(found) {
  document.getElementById("map-count").textContent = form ? found.found : found.text;
  document.getElementById("map-unsure")?.replaceChildren(found.unsure);
  document.getElementById("map-list")?.setAttribute("href", found.back);
  document.getElementById("map-chips").replaceChildren(...found.chips.filter((one) => !form || one.field in held).map((one) => {
    const item = document.createElement("li"), chip = document.createElement(one.field in held ? "button" : "a"), cross = document.createElement("span");
    chip.className = "chip";
    cross.textContent = "✕";
    cross.setAttribute("aria-label", place.dataset.remove);
    chip.append(one.text, cross);
    if (one.field in held) { chip.type = "button"; chip.addEventListener("click", () => pick(one.field, one.value)); } else chip.href = one.address;
    item.append(chip);
    return item;
  }));
}

function drawPlaces(found) {
  places.clearLayers();
  const counted = new Map(found.places.map((one) => [one.name, one]));
  // The dearer per m² among those shown, the deeper its colour; what it is stands in its label.
  const ranked = found.places.filter((one) => one.eur_sqm).sort((one, other) => one.eur_sqm - other.eur_sqm);
  const shares = new Map(ranked.map((one, at) => [one.name, at / Math.max(1, ranked.length - 1)]));
  for (const name of held.neighbourhood) if (!counted.has(name)) counted.set(name, { name, n: 0, placed: 0, chosen: true });
  for (const one of counted.values()) {
    const known = borders.get(one.name);
    if (!known) continue;
    const unplaced = one.n - one.placed, colour = one.chosen ? ink.picked : ink.border, dear = shares.get(one.name);
    // Flats without a point of their own are somewhere in their neighbourhood: its dashed border stands for them.
    if (known.rings.length) L.polygon(known.rings.map((ring) => [ring]), { color: colour, weight: one.chosen ? 3 : 1.5, dashArray: unplaced ? "6 5" : null, fillColor: dear === undefined ? colour : `hsl(25 85% ${Math.round(82 - 42 * dear)}%)`, fillOpacity: found.near ? 0 : 0.45, interactive: false }).addTo(places);
    const words = document.createElement("button");
    words.type = "button";
    const name = document.createElement("b");
    name.textContent = one.name;
    words.append(name, found.near ? `${unplaced} ${place.dataset.unplaced}` : [one.median, `(${one.n})`].filter(Boolean).join(" "));
    words.setAttribute("aria-pressed", String(one.chosen));
    words.addEventListener("click", (event) => { event.stopPropagation(); pick("neighbourhood", one.name); });
    if (!found.near || unplaced) L.marker(known.at, { keyboard: false, icon: L.divIcon({ className: "map-place", html: words, iconSize: null }) }).addTo(places);
  }
  thin();
}

function drawPins(found) {
  pins.clearLayers();
  if (found.near) for (const pin of found.pins) {
    const words = document.createElement("span");
    words.textContent = pin.n > 1 ? `${pin.n} × ${pin.price}+` : pin.price;
    const icon = L.divIcon({ className: `map-pin${pin.good ? " fits" : ""}${pin.n > 1 ? " many" : ""}`, html: words, iconSize: null });
    L.marker(pin.at, { icon, title: words.textContent, alt: words.textContent }).on("click keypress", () => (pin.id ? open(pin.id) : map.setView(pin.at, map.getZoom() + 2)))
      .on("mouseover mouseout", (event) => document.getElementById(`flat-${pin.id}`)?.classList.toggle("marked", event.type === "mouseover")).addTo(pins);
  }
}

// The card that is pointed at is marked on the map: by its own point, else by the border of its neighbourhood.
const mark = L.layerGroup().addTo(map);
let marked = null;
function point(event) {
  const card = event.target.closest?.(".results .card") ?? null;
  if (card === marked) return;
  marked = card;
  mark.clearLayers();
  const style = { color: ink.picked, weight: 4, fillOpacity: 0.15, interactive: false }, rings = borders.get(card?.dataset.place)?.rings;
  if (card?.dataset.at) L.circleMarker(card.dataset.at.split(",").map(Number), { ...style, radius: 24 }).addTo(mark);
  else if (rings?.length) L.polygon(rings.map((ring) => [ring]), style).addTo(mark);
}
for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, point);

// Names that would cover each other, or are cut by the edge of the map: what is picked and the one with more flats stay, the others come when one looks closer.
// All are measured before one is hidden: else the browser lays the page out again for each.
function thin() {
  const taken = [...place.querySelectorAll(".leaflet-control")].map((one) => one.getBoundingClientRect()), labels = [], frame = place.getBoundingClientRect();
  places.eachLayer((layer) => {
    const label = layer.getElement?.()?.firstChild;
    if (label) labels.push({ label, box: label.getBoundingClientRect(), pressed: label.getAttribute("aria-pressed") === "true" });
  });
  const meets = (one, other) => one.left < other.right && one.right > other.left && one.top < other.bottom && one.bottom > other.top;
  const holds = (one, other) => one.left <= other.left && one.right >= other.right && one.top <= other.top && one.bottom >= other.bottom;
  for (const { label, box, pressed } of labels.sort((one, other) => other.pressed - one.pressed)) {
    const cut = !pressed && meets(frame, box) && !holds(frame, box);
    if (cut || taken.some((one) => meets(one, box))) label.parentElement.hidden = true; else taken.push(box);
  }
}

async function open(id) {
  const sheet = document.getElementById("map-card"), answer = sheet && await fetch(`/map/card/${id}`);
  if (!answer?.ok) { location.assign(`/flat/${id}`); return; }  // asks for a sign-in, or says what is wrong
  sheet.innerHTML = await answer.text();  // made and escaped by our own server
  sheet.scrollIntoView({ block: "nearest" });
}

// An area is drawn by its corners; the server says whether it can be one.
const tools = document.getElementById("map-tools"), FINGER = 22;
let corners = null;

function drawSketch() {
  place.classList.toggle("drawing", corners !== null);
  for (const one of tools.children) one.hidden = (one.dataset.when === "drawing") !== (corners !== null);
  tools.querySelector("[data-tool=done]").disabled = (corners?.length ?? 0) < 3;
  tools.querySelector("[data-tool=undo]").disabled = !corners?.length;
  sketch.clearLayers();
  if (!corners?.length) return;
  L.polygon(corners, { color: ink.picked, weight: 3, dashArray: "4 6", fillOpacity: 0.1, interactive: false }).addTo(sketch);
  for (const corner of corners) L.circleMarker(corner, { radius: 8, color: ink.picked, fillColor: "#fff", fillOpacity: 1, weight: 3, interactive: false }).addTo(sketch);
}

function addCorner(at) {
  const first = corners[0] && map.latLngToContainerPoint(corners[0]);
  if (corners.length >= 3 && first.distanceTo(map.latLngToContainerPoint(at)) < FINGER) { work.done(); return; }
  corners.push(at);
  drawSketch();
}

const work = {
  draw() { corners = []; map.doubleClickZoom.disable(); place.scrollIntoView({ block: "nearest" }); },
  middle() { addCorner(map.getCenter()); },
  undo() { corners.pop(); },
  cancel() { corners = null; complain(); map.doubleClickZoom.enable(); },
  async done() {
    const outline = corners.map((one) => `${one.lat.toFixed(5)},${one.lng.toFixed(5)}`).join(";");
    const question = asked({ polygon: [outline], count: ["1"] });
    const answer = await (await fetch(`/search.json?${question}`)).json();
    complain(answer.error);
    if (answer.error || !corners) return;
    work.cancel();
    drawSketch();
    ask("polygon", [...held.polygon, outline]);
  },
};
tools.addEventListener("click", (event) => {
  const tool = event.target.closest("[data-tool]")?.dataset.tool;
  if (tool) { work[tool](); drawSketch(); }
});
map.on("click", (event) => { if (corners) addCorner(event.latlng); });

let waiting = null;
map.on("moveend", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    if (!form) {
      const at = map.getCenter();
      params.set("at", `${at.lat.toFixed(4)},${at.lng.toFixed(4)},${map.getZoom()}`);
      history.replaceState(null, "", `?${params}`);
    }
    drawFlats();
  }, 150);
});
const city = drawCity();
Promise.all([city, drawFlats()]).catch(() => { place.hidden = true; });  // without the network there is no map
