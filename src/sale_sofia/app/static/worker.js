// The pages seen last, readable without the network. Network first: what the server says is what is shown.
// Nothing but our own pages and files is kept: no forms, no JSON, no question for the password.
"use strict";

const asked = new URL(self.location.href).searchParams;
const PAGES = "pages", FILES = `files-${asked.get("v")}`;
const MOST = Number(asked.get("keep"));
const FILE = /^\/(static|leaflet|drawing)\//;

async function keep(request, response) {
  const pages = await caches.open(PAGES);
  await pages.delete(request);  // what is put last stands last
  await pages.put(request, response);
  const kept = await pages.keys();
  await Promise.all(kept.slice(0, Math.max(0, kept.length - MOST)).map((one) => pages.delete(one)));
}

async function page(event) {
  const request = event.request;
  try {
    const response = await fetch(request);
    const html = (response.headers.get("content-type") ?? "").startsWith("text/html");
    if (response.status === 401) event.waitUntil(caches.delete(PAGES));  // the login ended: nothing is left to read
    else if (response.status === 200 && response.type === "basic" && html && !response.redirected)
      event.waitUntil(keep(request.url, response.clone()));
    return response;
  } catch {
    const kept = await (await caches.open(PAGES)).match(request.url);
    if (!kept) return Response.error();
    const headers = new Headers(kept.headers);
    headers.delete("content-encoding");
    return new Response((await kept.text()).replace('id="offline" hidden', 'id="offline"'), { headers });
  }
}

async function file(event) {
  const files = await caches.open(FILES), kept = await files.match(event.request);
  if (kept) return kept;
  const response = await fetch(event.request);
  if (response.status === 200) event.waitUntil(files.put(event.request, response.clone()));
  return response;
}

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const name of await caches.keys()) if (name !== PAGES && name !== FILES) await caches.delete(name);
  await self.clients.claim();
})()));
self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== self.location.origin) return;
  if (/^\/(shared|enter|do)\//.test(url.pathname)) return;  // their addresses are secrets
  if (event.request.mode === "navigate") event.respondWith(page(event));
  else if (FILE.test(url.pathname)) event.respondWith(file(event));
});
