// What must not reload the page: keep, reject, compare, undo, the live count of a search, the photos in full.
// Every page works without it: forms are sent and answered by a page.
"use strict";

// Over TLS, or on this machine, the pages seen last stay readable without the network; the page that is opened comes first.
if (window.isSecureContext && "serviceWorker" in navigator)
  addEventListener("load", () => navigator.serviceWorker.register(document.body.dataset.worker).catch(() => {}));  // the pages work without it

const snack = document.getElementById("snack");
let told = null;

function tell(text, undo, after) {
  clearTimeout(told);
  const box = document.createElement("div");
  box.className = "snack";
  const words = document.createElement("span");
  words.textContent = text;
  box.append(words);
  if (undo) {
    const button = document.createElement("button");
    button.textContent = document.documentElement.lang === "en" ? "Undo" : "Отмени";
    button.addEventListener("click", async () => {
      const { action, ...fields } = undo;
      const answer = await send(action, new URLSearchParams(fields));
      if (answer) { after(answer); tell(answer.said); }
    });
    box.append(button);
  }
  snack.replaceChildren(box);
  told = setTimeout(() => snack.replaceChildren(), 8000);
}

async function send(action, fields) {
  try {
    const response = await fetch(action, { method: "POST", body: fields, headers: { accept: "application/json" } });
    if (response.status === 401) { signInAgain(); return null; }
    const answer = await response.json();
    sessionStorage.removeItem("unsent");
    if (answer.wrong) { tell(answer.said); return null; }
    return answer;
  } catch {
    tell(document.body.dataset.failed);
    return null;
  }
}

// What is typed into a form stays with the tab until a page answers it or shows the form again: a sign-in, or a lost network,
// may come between, and other pages after it.
// What is hidden stays with it: by stamps, and by what was shown, the server sees what others changed meanwhile.
const KEPT = "textarea, select, input:not([type=password], [type=file])", TYPED = "textarea, select, input:not([type=password], [type=file], [type=hidden])";
const signedIn = () => document.querySelector('a.language[href="/people"]')?.textContent;
const alike = (action) => [...document.forms].filter((one) => one.getAttribute("action") === action);
function remember(form) {
  if (form.method !== "post" || !form.querySelector(TYPED)) return;
  const action = form.getAttribute("action"), fields = [...form.querySelectorAll(KEPT)].map((one) => [one.name, one.value, one.checked]);
  sessionStorage.setItem("unsent", JSON.stringify({ action, at: alike(action).indexOf(form), fields, by: signedIn() }));
}
function signInAgain() {
  const typed = [...document.forms].find((form) => [...form.querySelectorAll("textarea")].some((one) => one.value !== one.defaultValue));
  if (typed) remember(typed);
  location.reload();  // asks for a sign-in
}
const SEEN = /^(back|stamp|shown_at|was_.*)$/;  // hidden fields that say what was seen; all others are what the form is about
function bringBack({ action, at, fields, by }) {  // whether it need not be kept any longer
  const form = alike(action)[at], places = [...form?.querySelectorAll(KEPT) ?? []];
  if (by !== signedIn()) return Boolean(signedIn());
  if (!form || places.length !== fields.length) return false;
  if (places.some((place, number) => place.name !== fields[number][0] || (place.type === "hidden" && !SEEN.test(place.name) && place.value !== fields[number][1]))) return false;
  places.forEach((place, number) => { [, place.value, place.checked] = fields[number]; });
  for (let box = form.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  form.querySelector("button").hidden = false;
  form.scrollIntoView({ block: "center" });
  tell(document.body.dataset.restored);
  return true;
}

function showStatus(answer) {
  for (const place of document.querySelectorAll(`.decisions[data-flat="${answer.id}"]`)) {
    place.dataset.status = answer.status;
    const keep = place.querySelector(".keep");
    keep.setAttribute("aria-pressed", String(answer.status === "shortlist"));
    keep.value = answer.status === "shortlist" ? "new" : "shortlist";
    place.querySelector("summary").classList.toggle("on", answer.status === "rejected");
    place.querySelector("details").open = false;
    place.closest(".card")?.classList.toggle("away", answer.status === "rejected");
  }
}

function showTicked(answer) {
  for (const button of document.querySelectorAll(`.decisions[data-flat="${answer.id}"] .tick`))
    button.setAttribute("aria-pressed", String(answer.ticked.includes(answer.id)));
  for (const count of document.querySelectorAll("[data-ticked]")) {
    count.textContent = answer.ticked.length;
    count.hidden = answer.ticked.length === 0;
  }
}

document.addEventListener("submit", async (event) => {
  remember(event.target);
  const form = event.target.closest("form[data-async]");
  if (!form) return;
  event.preventDefault();
  const fields = new URLSearchParams(new FormData(form, event.submitter));
  const answer = await send(form.action, fields);
  if (!answer) return;
  if (answer.ticked) { showTicked(answer); tell(answer.said); return; }
  if (form.closest(".queue") || "next" in form.dataset) { location.reload(); return; }
  if (answer.id) showStatus(answer);
  tell(answer.said, answer.undo, (back) => back.id && showStatus(back));
});

// What a field needs is said in the language of the page: a browser would say it in its own.
document.addEventListener("invalid", (event) => {
  event.preventDefault();
  const field = [...event.target.form.elements].find((one) => !one.validity.valid);
  if (field !== event.target) return;
  field.focus();
  const name = field.labels[0]?.firstChild.textContent.trim();
  tell(`${document.body.dataset.check}: ${name}${field.placeholder ? ` (${field.placeholder})` : ""}`);
}, true);

for (const control of document.querySelectorAll("[data-send]"))
  control.addEventListener("change", () => control.form.requestSubmit());

for (const field of document.querySelectorAll("[data-narrow]"))
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    for (const label of field.parentElement.querySelectorAll(".options label"))
      label.hidden = wanted !== "" && !label.textContent.toLowerCase().includes(wanted) && (field.dataset.narrow === "all" || !label.querySelector("input").checked);
  });

// On a desk the list of a search stands beside its map, and both follow the filters; else the button tells the count.
const live = document.querySelector("form[data-live]"), wide = matchMedia("(min-width: 80rem)");
async function fetchSignedIn(address, signal) {
  const response = await fetch(address, { signal });
  if (response.status === 401) location.assign(address.replace(".json", "").replace("&count=1", ""));  // asks for a sign-in
  return response;
}
async function follow(params, signal) {
  const address = `${location.pathname}?${params}`;
  const page = new DOMParser().parseFromString(await (await fetchSignedIn(address, signal)).text(), "text/html");
  const fresh = page.querySelectorAll("[data-follows]"), places = document.querySelectorAll("[data-follows]");
  if (fresh.length !== places.length) throw new Error("no page of results");
  places.forEach((place, at) => place.replaceWith(fresh[at]));
  history.replaceState(null, "", address);
  return fresh[1].querySelector(".found strong").textContent;
}
if (live) {
  const button = live.querySelector("[data-count]");
  let waiting = null, asked = null;
  live.addEventListener("input", (event) => {
    if ("narrow" in event.target.dataset) return;
    const list = event.target.closest("details")?.querySelector("[data-chosen]");
    if (list) list.textContent = event.target.closest("details").querySelectorAll(":checked").length;
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      asked?.abort();
      asked = new AbortController();
      const params = new URLSearchParams([...new FormData(live)].filter(([, value]) => value !== "")), signal = asked.signal;
      try {
        if (wide.matches) { button.textContent = await follow(params, signal); return; }
        const answer = await (await fetchSignedIn(`/search.json?${params}&count=1`, signal)).json();
        if (!(answer.text ?? answer.error)) throw new Error("no count");
        button.textContent = answer.text ?? answer.error;
      } catch { if (!signal.aborted) tell(document.body.dataset.failed); }  // else a newer question was asked
    }, 250);
  });
  live.addEventListener("submit", () => {
    for (const field of live.elements) if (field.name && field.type !== "checkbox" && field.value === "") field.disabled = true;
  });
  addEventListener("pageshow", () => { for (const field of live.elements) field.disabled = false; });
  if (matchMedia("(min-width: 60rem)").matches) live.querySelector("details").open = true;
}

// The map of a search: beside the list where there is room, else a sheet that is fetched when somebody wants it.
// Without scripts the link leads to the page of the map.
function load(tag, fields) {
  return new Promise((done) => { const one = Object.assign(document.createElement(tag), fields); one.addEventListener("load", done); document.head.append(one); });
}
for (const link of document.querySelectorAll("[data-sheet]")) {
  const sheet = document.getElementById(link.dataset.sheet), version = sheet.dataset.version;
  const draw = async () => {
    if ("drawn" in sheet.dataset) return;
    sheet.dataset.drawn = "";
    await Promise.all([load("link", { rel: "stylesheet", href: `/leaflet/leaflet.css?v=${version}` }), load("script", { src: `/leaflet/leaflet.js?v=${version}` })]);
    await load("script", { src: `/static/map.js?v=${version}` });
  };
  const arrange = () => {
    if (sheet.matches(":modal")) return;
    sheet.open = wide.matches;  // not by show(), which would take the focus
    if (wide.matches) draw();
  };
  sheet.querySelector("[data-close]").addEventListener("click", () => { sheet.close(); arrange(); });
  link.addEventListener("click", (event) => { event.preventDefault(); sheet.close(); sheet.showModal(); draw(); });
  wide.addEventListener("change", arrange);
  arrange();
}

for (const field of document.querySelectorAll("input[type=file]"))
  field.addEventListener("change", () => { field.nextElementSibling.textContent = `(${field.files.length})`; });

for (const button of document.querySelectorAll("[data-copy]"))
  button.addEventListener("click", async () => {
    const text = button.previousElementSibling;
    if (navigator.clipboard) await navigator.clipboard.writeText(text.textContent);
    else { getSelection().selectAllChildren(text); document.execCommand("copy"); }  // over plain HTTP there is no clipboard
    tell("✓");
  });

for (const button of document.querySelectorAll("[data-share]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const url = new URL(button.dataset.share, location.href).href;
    try {
      if (navigator.share) { await navigator.share({ title: document.title, url }); return; }
      await navigator.clipboard.writeText(url);
      tell(button.dataset.said);
    } catch (error) {
      if (error.name !== "AbortError") tell(url);  // neither is allowed here: the address can be copied by hand
    }
  });
}

const gallery = document.querySelector(".gallery");
if (gallery) gallery.addEventListener("click", (event) => {
  const link = event.target.closest("[data-photo]");
  if (!link) return;
  event.preventDefault();
  const box = document.createElement("dialog"), close = document.createElement("button"), strip = document.createElement("div");
  close.textContent = "✕"; close.className = "close"; close.setAttribute("aria-label", document.documentElement.lang === "en" ? "Close" : "Затвори");
  strip.className = "strip";
  strip.append(...[...gallery.querySelectorAll("img")].map((image) => { const copy = image.cloneNode(); copy.loading = "eager"; return copy; }));
  close.addEventListener("click", () => box.close());
  box.addEventListener("close", () => box.remove());
  box.append(close, strip);
  document.body.append(box);
  box.showModal();
  strip.children[[...gallery.querySelectorAll("[data-photo]")].indexOf(link)]?.scrollIntoView();
});

// Criteria are kept as one goes: one after the other, so that none takes back what another has changed.
let keeping = Promise.resolve();
async function keep(form) {
  const told = form.querySelector("[data-mistake]");
  remember(form);
  const response = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), headers: { accept: "application/json" } });
  if (response.status === 401) { signInAgain(); return; }
  const answer = await response.json();
  sessionStorage.removeItem("unsent");
  if (answer.conflict) { form.submit(); return; }  // answered by a page that shows what is new
  told.textContent = answer.wrong ? answer.said : "";
  told.hidden = !answer.wrong;
  if (answer.wrong) return;
  form.elements.stamp.value = answer.stamp;
  for (const place of document.querySelectorAll("[data-told]")) place.textContent = answer[place.dataset.told];
}
for (const form of document.querySelectorAll("form[data-keep]")) {
  const later = () => { keeping = keeping.then(() => keep(form)).catch(() => tell(document.body.dataset.failed)); };
  form.addEventListener("submit", (event) => { event.preventDefault(); later(); });
  form.addEventListener("change", (event) => {
    if (!event.target.name) return;
    const list = event.target.closest("details");
    if (list) list.querySelector("[data-chosen]").textContent = list.querySelectorAll(":checked").length;
    later();
  });
  form.querySelector("button").hidden = true;
  document.querySelector("[data-kept]").hidden = false;
}

if (document.getElementById("offline").hidden) {  // a page kept for reading offline answers nothing
  const unsent = sessionStorage.getItem("unsent");
  if (unsent && ("answered" in document.body.dataset || bringBack(JSON.parse(unsent)))) sessionStorage.removeItem("unsent");
}
