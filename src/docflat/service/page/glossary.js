// The glossary as a table. What is in it is also in the text field that the form sends: a term, a tab, a translation.

export function makeGlossary(plain, place, words, changed) {
  const table = document.createElement("table");
  table.className = "grid";
  const head = table.createTHead().insertRow();
  for (const title of [words.term, words.term_translation, ""]) {
    const cell = document.createElement(title ? "th" : "td");
    cell.textContent = title;
    if (title) cell.scope = "col";
    head.append(cell);
  }
  const body = table.createTBody();
  const add = document.createElement("button");
  add.type = "button";
  add.textContent = words.add_row;
  add.addEventListener("click", () => addRow("", "").querySelector("input").focus());
  place.append(table, add);

  function addRow(term, translation, before = null) {
    const row = document.createElement("tr");
    for (const value of [term, translation]) {
      const input = document.createElement("input");
      input.value = value;
      input.maxLength = 500;
      input.addEventListener("input", write);
      input.addEventListener("paste", paste);
      input.addEventListener("keydown", enter);
      row.insertCell().append(input);
    }
    const remove = document.createElement("button");
    remove.type = "button";
    remove.textContent = "×";
    remove.addEventListener("click", () => {
      const next = row.nextElementSibling || row.previousElementSibling;
      row.remove();
      write();
      (next ? next.querySelector("input") : add).focus();
    });
    row.insertCell().append(remove);
    body.insertBefore(row, before);
    name();
    return row;
  }

  function name() {
    [...body.rows].forEach((row, place) => {
      const [term, translation, remove] = row.querySelectorAll("input, button");
      const number = words.row.replace("{number}", place + 1);
      term.setAttribute("aria-label", `${words.term}, ${number}`);
      translation.setAttribute("aria-label", `${words.term_translation}, ${number}`);
      remove.setAttribute("aria-label", words.remove_row.replace("{number}", place + 1));
    });
  }

  function enter(event) {
    if (event.key !== "Enter") return;
    event.preventDefault(); // or the form would be sent
    const row = event.target.closest("tr");
    (row.nextElementSibling || addRow("", "")).querySelector("input").focus();
  }

  function paste(event) {
    const text = event.clipboardData.getData("text");
    if (!/[\t\n]/.test(text.trim())) return;
    event.preventDefault();
    const row = event.target.closest("tr");
    for (const [term, translation] of read(text)) addRow(term, translation, row);
    if (![...row.querySelectorAll("input")].some((input) => input.value)) row.remove();
    write();
  }

  function write() {
    name();
    plain.value = entries().map((entry) => entry.join("\t")).join("\n");
    changed();
  }

  function entries() {
    const pairs = [...body.rows].map((row) => [...row.querySelectorAll("input")].map((input) => input.value.trim()));
    return pairs.filter(([term, translation]) => term && translation);
  }

  function read(text) {
    return text.split(/\r?\n/).map((line) => line.split("\t")).filter((cells) => cells[0].trim())
      .map((cells) => [cells[0], cells[1] || ""]);
  }

  for (const [term, translation] of read(plain.value)) addRow(term, translation);
  if (!body.rows.length) addRow("", "");
}
