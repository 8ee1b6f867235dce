// The cursor of charts: what a pointer is over, or where the arrow keys went, is read out below the drawing.
// An answer that takes the place of another brings charts without one: they are prepared when it is there.
{
  const prepare = (figure) => {
    const stops = [...figure.querySelectorAll("[data-label]")];
    if (stops.length === 0) return;
    const reader = document.createElement("p");
    reader.className = "reader";
    reader.setAttribute("aria-live", "polite");
    figure.querySelector(".drawing").after(reader);
    let place = -1;
    const show = (next) => {
      stops[place]?.classList.remove("current");
      place = next;
      stops[place]?.classList.add("current");
      reader.textContent = stops[place]?.dataset.label ?? "";
    };
    figure.addEventListener("pointerover", (event) => {
      const stop = event.target.closest("[data-label]");
      if (stop) show(stops.indexOf(stop));
    });
    figure.addEventListener("keydown", (event) => {
      if (event.target !== figure) return;
      const last = stops.length - 1;
      const next = { ArrowRight: Math.min(place + 1, last), ArrowLeft: Math.max(place - 1, 0), Home: 0, End: last, Escape: -1 }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      show(next);
    });
  };
  const prepareAll = () => document.querySelectorAll("figure[data-chart]:not(:has(.reader))").forEach(prepare);
  prepareAll();
  document.addEventListener("answered", prepareAll);
}
