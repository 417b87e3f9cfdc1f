"use strict";

// Figures: a click opens one in a window of its own size.
(() => {
  const viewer = document.getElementById("viewer");
  const stage = viewer.querySelector(".stage");
  const picture = viewer.querySelector("img");
  const step = 1.4;
  const least = 100;

  const resize = (width) => {
    picture.style.width = `${Math.max(least, Math.round(width))}px`;
  };
  const actions = {
    larger: () => resize(picture.clientWidth * step),
    smaller: () => resize(picture.clientWidth / step),
    // The whole figure, as large as there is room for.
    fit: () => {
      resize(0);  // so that no scroll bar takes room
      const shape = picture.naturalWidth / picture.naturalHeight;
      resize(Math.min(stage.clientWidth, stage.clientHeight * shape));
    },
    close: () => viewer.close(),
  };
  for (const button of viewer.querySelectorAll("button")) {
    button.addEventListener("click", () => actions[button.name]());
  }
  picture.addEventListener("click", actions.larger);
  for (const button of document.querySelectorAll("button.zoom")) {
    button.addEventListener("click", () => {
      const source = button.querySelector("img");
      picture.src = source.src;
      picture.alt = source.alt;
      viewer.showModal();
      picture.decode().then(actions.fit);
    });
  }
})();

// Published numbers: rows by status and by text.
(() => {
  const form = document.getElementById("filter");
  if (!form) {
    return;
  }
  const boxes = [...form.querySelectorAll("input[type=checkbox]")];
  const sections = [...document.querySelectorAll("section.published")].map((section) => ({
    section,
    rows: [...section.querySelectorAll("tbody tr")],
  }));

  const apply = () => {
    const statuses = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const text = form.elements.text.value.trim().toLowerCase();
    let shown = 0;
    let total = 0;
    for (const { section, rows } of sections) {
      let here = 0;
      for (const row of rows) {
        row.hidden =
          !statuses.has(row.dataset.status) || !row.textContent.toLowerCase().includes(text);
        here += row.hidden ? 0 : 1;
      }
      section.hidden = here === 0;
      shown += here;
      total += rows.length;
    }
    form.elements.shown.value = `${shown} of ${total} shown`;
  };
  const check = (value) => () => {
    for (const box of boxes) {
      box.checked = value;
    }
    apply();
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.elements.all.addEventListener("click", check(true));
  form.elements.none.addEventListener("click", check(false));
  form.hidden = false;
  // A reload keeps what was typed, so the rows must follow it.
  apply();
})();
