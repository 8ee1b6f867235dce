// Try: the answer follows the keys. It is asked for 150 ms after the last one; an answer that a newer question has overtaken is
// dropped. Sliders write into the fields, which alone are sent.
{
  const form = document.querySelector("form[data-trial]");
  const PAUSE = 150;
  let waiting;
  let asking;

  const replace = (page, id) => {
    const [old, fresh] = [document.getElementById(id), page.getElementById(id)];
    if (old && fresh && !old.contains(document.activeElement)) old.replaceWith(fresh);
  };
  const show = (text) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    replace(page, "answer");
    replace(page, "speeds");
    prepare();
    const said = document.getElementById("said");
    said.textContent = document.querySelector("#answer [data-finding]")?.textContent ?? document.querySelector("#answer h2")?.textContent ?? "";
  };
  const ask = async () => {
    asking?.abort();
    const mine = (asking = new AbortController());
    const answer = document.getElementById("answer");
    answer?.setAttribute("aria-busy", "true");
    try {
      const sent = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), signal: mine.signal });
      const text = await sent.text();
      if (mine === asking) show(text);
    } catch (error) {
      if (mine !== asking) return;
      document.getElementById("said").textContent = "The service does not answer.";
    } finally {
      if (mine === asking) document.getElementById("answer")?.removeAttribute("aria-busy");
    }
  };
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, PAUSE);
  };

  // A slider has 1,000 places between the usual values; a field that says nothing leaves it in the middle.
  const figure = (slider) => {
    const [least, most, at] = [Number(slider.dataset.least), Number(slider.dataset.most), slider.value / 1000];
    const value = slider.dataset.scale === "log" ? least * (most / least) ** at : least + (most - least) * at;
    return Number(value.toPrecision(3)).toString();
  };
  const place = (slider, value) => {
    const [least, most] = [Number(slider.dataset.least), Number(slider.dataset.most)];
    const at = slider.dataset.scale === "log" ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least);
    if (Number.isFinite(at)) slider.value = 1000 * Math.min(1, Math.max(0, at));
  };
  function prepare() {
    for (const slider of form.querySelectorAll("input[data-slides][hidden]")) {
      const field = document.getElementById(slider.dataset.slides);
      slider.hidden = false;
      if (field.value !== "") place(slider, Number(field.value));
      slider.addEventListener("input", () => {
        field.value = figure(slider);
        soon();
      });
      field.addEventListener("input", () => {
        if (field.value !== "") place(slider, Number(field.value));
      });
    }
  }

  if (form) {
    prepare();
    form.addEventListener("input", (event) => {
      if (!event.target.dataset.slides) soon();
    });
    form.addEventListener("submit", () => clearTimeout(waiting));
    document.addEventListener("click", (event) => {
      const line = event.target.closest("[data-line]")?.dataset.line;
      if (!line) return;
      event.preventDefault();
      const text = document.getElementById("sheet");
      const lines = text.value.split("\n");
      const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
      text.focus();
      text.setSelectionRange(start, start + lines[line - 1].length);
      text.scrollTop = ((line - 3) / lines.length) * text.scrollHeight;
    });
  }
}
