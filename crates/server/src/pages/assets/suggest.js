// Search boxes complete what is typed by the names that are stored; a choice opens the page of the model.
for (const input of document.querySelectorAll("input[data-suggest]")) {
  const list = document.createElement("ul");
  list.id = `suggestions-${Math.random().toString(36).slice(2)}`;
  list.className = "suggestions";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Models");
  list.hidden = true;
  const holder = document.createElement("span");
  holder.className = "suggest";
  input.replaceWith(holder);
  holder.append(input, list);
  for (const [name, value] of Object.entries({
    role: "combobox", "aria-autocomplete": "list", "aria-controls": list.id, "aria-expanded": "false",
  })) input.setAttribute(name, value);
  let waiting, asked = 0, place = -1;
  const close = () => {
    list.hidden = true;
    place = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const open = (name) => {
    location.href = `/ui/models/${name.split("/").map(encodeURIComponent).join("/")}`;
  };
  const choose = (next) => {
    list.children[place]?.setAttribute("aria-selected", "false");
    place = next;
    const option = list.children[place];
    option?.setAttribute("aria-selected", "true");
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
  };
  const ask = async () => {
    const number = ++asked;
    const sought = input.value.trim();
    if (sought === "") return close();
    const answer = await fetch(`/search?kind=canonical_model&limit=8&q=${encodeURIComponent(sought)}`);
    if (!answer.ok || number !== asked) return;
    const { data } = await answer.json();
    list.replaceChildren(...data.map(({ name }, index) => {
      const option = document.createElement("li");
      option.id = `${list.id}-${index}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.textContent = name;
      option.addEventListener("pointerdown", (event) => { event.preventDefault(); open(name); });
      return option;
    }));
    place = -1;
    list.hidden = data.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
  };
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, 150);
  });
  input.addEventListener("blur", close);
  input.addEventListener("change", (event) => event.stopPropagation());
  input.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    const last = list.children.length - 1;
    if (event.key === "ArrowDown") choose(place < last ? place + 1 : 0);
    else if (event.key === "ArrowUp") choose(place > 0 ? place - 1 : last);
    else if (event.key === "Escape") close();
    else if (event.key === "Enter" && place >= 0) open(list.children[place].textContent);
    else return;
    event.preventDefault();
  });
}
