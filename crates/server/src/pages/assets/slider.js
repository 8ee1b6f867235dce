// Sliders: each writes into the field that it belongs to, which alone is sent. A field that says nothing leaves it in the middle.
{
  const figure = (slider) => {
    const [least, most, at] = [Number(slider.dataset.least), Number(slider.dataset.most), slider.value / 1000];
    const value = slider.dataset.scale === "log" ? least * (most / least) ** at : least + (most - least) * at;
    const rounded = Number(value.toPrecision(3));
    return String("whole" in slider.dataset ? Math.round(rounded) : rounded);
  };
  const place = (slider, text) => {
    const [least, most, value] = [Number(slider.dataset.least), Number(slider.dataset.most), Number(text)];
    const at = slider.dataset.scale === "log" ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least);
    if (text !== "" && Number.isFinite(at)) slider.value = 1000 * Math.min(1, Math.max(0, at));
  };
  const prepare = () => {
    for (const slider of document.querySelectorAll("input[data-slides]")) {
      const field = document.getElementById(slider.dataset.slides);
      // The meaning of an empty field may be another since.
      if (!slider.hidden && field.value === "" && slider !== document.activeElement) place(slider, field.dataset.usual ?? "");
      if (!slider.hidden) continue;
      slider.hidden = false;
      place(slider, field.value || field.dataset.usual || "");
      slider.addEventListener("input", () => {
        field.value = figure(slider);
      });
      field.addEventListener("input", () => place(slider, field.value));
    }
  };
  prepare();
  document.addEventListener("answered", prepare);
}
