// Live parts: `data-live` names the kinds of changes after which an element is fetched again from the page's own address. Forms with
// `data-instant` are sent as soon as a choice in them changes.
{
  const parts = () => document.querySelectorAll("[data-live][id]");
  const refresh = async () => {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of parts()) {
      const fresh = page.getElementById(part.id);
      if (fresh && fresh.innerHTML !== part.innerHTML) part.replaceWith(fresh);
    }
  };
  if (parts().length > 0) {
    let waiting;
    const stream = new EventSource("/changes/stream");
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
