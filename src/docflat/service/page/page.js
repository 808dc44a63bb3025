// The page with a script: texts without a reload, files that are dropped, jobs that are followed.

import { makeGlossary } from "./glossary.js";
import { Jobs } from "./jobs.js";

const get = (id) => document.getElementById(id);
const form = get("form");
const { root, language } = form.dataset;
const words = JSON.parse(form.dataset.words);
const say = (name, values) => words[name].replace(/\{(\w+)\}/g, (_, key) => values[key]);

document.documentElement.classList.add("scripted");

let problem_kind = "";
function problem(text, kind = "") {
  if (!text && kind !== problem_kind) return; // another problem than the one that is over
  problem_kind = kind;
  get("problem").textContent = text;
  get("problem").hidden = !text;
  if (text && !kind) get("problem").scrollIntoView({ block: "nearest" });
}

// Dark or light: as the system has it, until somebody says otherwise.
const theme = get("theme");
theme.hidden = false;
const stored = (name, value) => {
  try {
    if (value === undefined) return localStorage.getItem(name);
    localStorage.setItem(name, value);
  } catch { /* a browser that keeps nothing */ }
  return null;
};
const set_theme = (name) => { if (name) document.documentElement.dataset.theme = name; };
set_theme(stored("docflat-theme"));
theme.addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  set_theme(dark ? "light" : "dark");
  stored("docflat-theme", dark ? "light" : "dark");
});

// Glossary and names stay in the browser; who has some sees them, as they change translations.
for (const name of ["glossary", "terms"]) {
  get(name).value ||= stored(`docflat-${name}`) || "";
  get(name).addEventListener("input", () => stored(`docflat-${name}`, get(name).value));
}
get("glossary-card").open = Boolean(get("glossary").value || get("terms").value);
get("glossary-plain").hidden = true;
get("glossary-table").hidden = false;
makeGlossary(get("glossary"), get("glossary-table"), words, () => stored("docflat-glossary", get("glossary").value));

const options = () => {
  const [source, target] = get("pair").value.split("-");
  return { source, target, glossary: get("glossary").value, terms: get("terms").value, compare: get("compare").checked };
};

// Text
let asking = null;
let translated = "";

async function translate() {
  const text = get("text").value;
  if (!text.trim()) return get("text").focus();
  asking?.abort();
  const mine = asking = new AbortController();
  busy(true);
  problem("");
  try {
    const answer = await fetch(`${root}/api/translate?lang=${language}`, {
      method: "POST", signal: mine.signal, headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ text, ...options() }),
    });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    show_translation(found);
  } catch (error) {
    if (error.name !== "AbortError") problem(error instanceof TypeError ? words.offline : error.message);
  } finally {
    if (asking === mine) busy(false);
  }
}

function busy(is) {
  get("translate").disabled = is;
  get("translate").textContent = is ? words.translating : words.translate;
  get("stop").hidden = !is;
  get("translation").setAttribute("aria-busy", is);
}

function show_translation(found) {
  translated = found.texts[0];
  const parts = found.parts || [[translated, null]];
  get("translation").replaceChildren(...parts.map(([part, alone]) => {
    if (alone === null) return document.createTextNode(part);
    const mark = Object.assign(document.createElement("mark"), { tabIndex: 0, textContent: part });
    const hint = Object.assign(document.createElement("span"), { className: "alone" });
    hint.setAttribute("role", "tooltip");
    hint.textContent = alone ? say("alone", { text: alone }) : words.not_there;
    mark.append(hint);
    return mark;
  }));
  get("explained").textContent = !get("compare").checked ? "" : found.changed ? words.changed : words.unchanged;
  get("take").hidden = false;
}

get("translate").addEventListener("click", (event) => { event.preventDefault(); translate(); });
get("stop").addEventListener("click", () => asking?.abort());
get("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); translate(); }
});
form.addEventListener("submit", (event) => event.preventDefault());

get("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(translated);
  } catch { // browsers give the clipboard to https and to this machine only
    const area = document.createElement("textarea");
    area.value = translated;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  get("copy").textContent = words.copied;
  setTimeout(() => { get("copy").textContent = words.copy; }, 1500);
});

get("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([translated], { type: "text/plain;charset=utf-8" }));
  link.download = `translation.${options().target}.txt`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});

// Files
const jobs = new Jobs({
  root, language, words, say, problem, most: Number(form.dataset.most), hours: form.dataset.hours,
});
const drop = get("drop");
get("send").hidden = true; // chosen files are sent at once
get("drop-hint").hidden = false;

async function send(files) {
  problem("");
  for (const file of files) await jobs.send(file, options());
}
get("files").addEventListener("change", () => {
  send([...get("files").files]);
  get("files").value = "";
});
for (const name of ["dragenter", "dragover"]) {
  addEventListener(name, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    drop.classList.add("over");
  });
}
for (const name of ["dragleave", "drop"]) addEventListener(name, () => drop.classList.remove("over"));
addEventListener("drop", (event) => {
  if (!event.dataTransfer?.files.length) return;
  event.preventDefault();
  send([...event.dataTransfer.files]);
});
