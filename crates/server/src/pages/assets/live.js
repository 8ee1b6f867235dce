// Live parts: `data-live` names the kinds of changes after which an element is fetched again from the page's own address, and
// `data-about` filters them. `#news` says so where it is. Forms with `data-instant` are sent as soon as a choice in them changes.
{
  const FOCUSABLE = "a[href], button, input, select, summary, [tabindex]";
  const parts = () => document.querySelectorAll("[data-live][id]");
  // As they were served: what a reader unfolds, and what other parts of this script add, is no change.
  const served = new Map([...parts()].map((part) => [part.id, part.innerHTML]));
  const exchange = (part, fresh) => {
    const opened = [...part.querySelectorAll("details")].map((details) => details.open);
    const place = [...part.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
    part.replaceWith(fresh);
    fresh.querySelectorAll("details").forEach((details, index) => {
      details.open = opened[index] ?? details.open;
    });
    if (place >= 0) fresh.querySelectorAll(FOCUSABLE)[place]?.focus({ preventScroll: true });
  };
  const say = () => {
    const news = document.getElementById("news");
    if (news) news.textContent = `${new Date().toLocaleTimeString()}: ${news.dataset.news}`;
  };
  const refresh = async () => {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of parts()) {
      const fresh = page.getElementById(part.id);
      if (!fresh || fresh.innerHTML === served.get(part.id)) continue;
      served.set(part.id, fresh.innerHTML);
      exchange(part, fresh);
      document.dispatchEvent(new Event("answered"));
      say();
    }
  };
  if (parts().length > 0) {
    let waiting;
    const about = document.querySelector("[data-about]")?.dataset.about;
    const stream = new EventSource(about ? `/changes/stream?${about}` : "/changes/stream");
    const soon = () => {
      clearTimeout(waiting);
      waiting = setTimeout(refresh, 500);
    };
    const kinds = [...parts()].flatMap((part) => part.dataset.live.split(" "));
    for (const kind of new Set(kinds)) stream.addEventListener(kind, soon);
    addEventListener("pagehide", () => stream.close());
  }
  for (const form of document.querySelectorAll("form[data-instant]")) {
    form.addEventListener("change", () => form.requestSubmit());
  }
}
