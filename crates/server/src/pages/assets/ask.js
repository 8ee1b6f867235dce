// Questions: the answer follows the keys. It is asked for 150 ms after the last one; an answer that a newer question has overtaken
// is dropped. The address holds the question of a form that is sent by GET.
{
  const form = document.querySelector("form[data-asks]");
  const PAUSE = 150;
  let waiting;
  let asking;

  const replace = (page, id) => {
    const [old, fresh] = [document.getElementById(id), page.getElementById(id)];
    if (old && fresh && !old.contains(document.activeElement)) old.replaceWith(fresh);
  };
  const say = (words) => {
    document.getElementById("said").textContent = words;
  };
  // Fields keep what was typed. What an empty one means, and what is wrong with one, is said by the answer.
  const follow = (page) => {
    for (const part of document.querySelectorAll("[data-follows][id]")) replace(page, part.id);
    const isAnswered = page.querySelector("#answer [data-finding]") !== null;
    for (const field of form.querySelectorAll("[data-field]")) {
      const fresh = page.getElementById(field.id);
      if (!fresh) continue;
      if (fresh.hasAttribute("aria-invalid")) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
      if (!isAnswered) continue;
      if (field.tagName === "SELECT") field.options[0].textContent = fresh.options[0].textContent;
      else [field.placeholder, field.dataset.usual] = [fresh.placeholder, fresh.dataset.usual];
    }
  };
  const show = (text) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    replace(page, "answer");
    replace(page, "speeds");
    follow(page);
    document.dispatchEvent(new Event("answered"));
    const answer = document.getElementById("answer");
    say((answer?.querySelector("[data-finding]") ?? answer?.querySelector("h2"))?.textContent ?? "");
  };
  const request = () => {
    const stated = [...new FormData(form)].filter(([, value]) => value !== "");
    const fields = new URLSearchParams(stated);
    if (form.method === "post") return [form.action, { method: "POST", body: fields }];
    const address = `${form.action}?${fields}`;
    history.replaceState(null, "", address);
    return [address, {}];
  };
  const ask = async () => {
    asking?.abort();
    const mine = (asking = new AbortController());
    document.getElementById("answer")?.setAttribute("aria-busy", "true");
    try {
      const [address, options] = request();
      const sent = await fetch(address, { ...options, signal: mine.signal });
      const text = await sent.text();
      if (mine === asking) show(text);
    } catch {
      if (mine === asking) say("The service does not answer.");
    } finally {
      if (mine === asking) document.getElementById("answer")?.removeAttribute("aria-busy");
    }
  };
  const showLine = (number) => {
    const text = document.getElementById("sheet");
    const lines = text.value.split("\n");
    const start = lines.slice(0, number - 1).reduce((length, line) => length + line.length + 1, 0);
    text.focus();
    text.setSelectionRange(start, start + (lines[number - 1]?.length ?? 0));
    text.scrollTop = ((number - 3) / lines.length) * text.scrollHeight;
  };

  if (form) {
    form.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(ask, PAUSE);
    });
    form.addEventListener("submit", () => clearTimeout(waiting));
    document.addEventListener("click", (event) => {
      const link = event.target.closest("[data-line]");
      if (!link) return;
      event.preventDefault();
      showLine(Number(link.dataset.line));
    });
  }
}
