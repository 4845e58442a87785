// Shows a notice when a page cannot be loaded for want of a connection. It keeps no data, answers no call to the
// server from memory, and never sends a decision later: whoever is offline cannot decide.
const CACHE = "placet-offline-1";
const NOTICE = "/offline.html";

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll([NOTICE, "/offline.css"]))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET") return;
  const url = new URL(request.url);
  if (url.origin !== self.location.origin) return;
  if (request.mode === "navigate") {
    event.respondWith(
      fetch(request).catch(() => caches.match(NOTICE).then((notice) => notice ?? Response.error())),
    );
  } else if (url.pathname === "/offline.css") {
    event.respondWith(caches.match("/offline.css").then((style) => style ?? fetch(request)));
  }
});
