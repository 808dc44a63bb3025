// Files: sent as jobs, followed by one stream of events. Jobs are on the server; the browser keeps only their names.

const KEEP = "docflat-jobs";

export class Jobs {
  constructor(page) {
    this.page = page; // { root, language, words, say, problem, most, hours }
    this.list = document.getElementById("jobs");
    this.shown = new Map(); // by job: its element and what is known of it
    this.events = null;
    this.again = 0;
    document.getElementById("job-list").hidden = false;
    document.getElementById("no-jobs").textContent = page.words.no_jobs.replace("{hours}", page.hours);
    for (const id of this.remembered()) this.show({ id, state: "queued", files: [] });
    this.follow();
  }

  remembered() {
    try {
      const ids = JSON.parse(localStorage.getItem(KEEP) || "[]");
      return ids.filter((id) => /^[\w-]{16,64}$/.test(id)).slice(-50);
    } catch {
      return [];
    }
  }

  remember() {
    const ids = [...this.shown.keys()].filter((id) => !id.startsWith("new "));
    try {
      localStorage.setItem(KEEP, JSON.stringify(ids));
    } catch { /* a browser that keeps nothing: the jobs are shown until the page is left */ }
  }

  async send(file, fields) {
    const { words, problem, most, root, language } = this.page;
    if (file.size > most) {
      return problem(words.too_large.replace("{name}", file.name).replace("{most}", most >> 20));
    }
    const id = `new ${file.name} ${Math.random()}`;
    this.show({ id, state: "uploading", files: [{ name: file.name, state: "uploading" }] });
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    form.append("files", file);
    try {
      const answer = await fetch(`${root}/api/jobs?lang=${language}`, { method: "POST", body: form });
      const job = await answer.json();
      if (!answer.ok) throw new Error(job.error);
      this.rename(id, job);
      this.remember();
      this.follow();
    } catch (error) {
      this.forget(id);
      problem(`${file.name}: ${error instanceof TypeError ? words.offline : error.message}`);
    }
  }

  rename(id, job) {
    const known = this.shown.get(id);
    this.shown.delete(id);
    this.shown.set(job.id, known);
    this.show(job);
  }

  forget(id) {
    this.shown.get(id)?.element.remove();
    this.shown.delete(id);
    this.remember();
    document.getElementById("no-jobs").hidden = this.shown.size > 0;
  }

  follow() {
    this.events?.close();
    clearTimeout(this.again);
    const ids = [...this.shown].filter(([id, known]) => !id.startsWith("new ") && !known.ended).map(([id]) => id);
    if (!ids.length) return;
    const { root, language } = this.page;
    this.events = new EventSource(`${root}/api/jobs/${ids.join(",")}/events?lang=${language}`);
    this.events.onmessage = (event) => this.show(JSON.parse(event.data));
    this.events.addEventListener("end", () => this.events.close());
    this.events.onopen = () => this.page.problem("", "offline");
    this.events.onerror = () => {
      this.page.problem(this.page.words.offline, "offline");
      // A browser tries again by itself only while it likes to.
      if (this.events.readyState === EventSource.CLOSED) this.again = setTimeout(() => this.follow(), 2000);
    };
  }

  show(job) {
    let known = this.shown.get(job.id);
    if (!known) {
      known = { element: document.createElement("li"), ended: false, shape: "" };
      this.shown.set(job.id, known);
      this.list.prepend(known.element);
    }
    document.getElementById("no-jobs").hidden = true;
    const ended = ["done", "failed", "gone"].includes(job.state);
    const [file = { name: job.id, state: job.state }] = job.files;
    if (ended && !known.ended && known.name) {
      document.getElementById("said").textContent = `${file.name}: ${this.words_of(job, file)}`;
    }
    known.ended = ended;
    known.name = job.files.length ? file.name : known.name;
    const shape = `${job.state} ${known.name} ${Boolean(file.total)}`;
    if (shape !== known.shape) this.build(known, job, file); // else what has the focus keeps it
    known.shape = shape;
    const progress = known.element.querySelector("progress");
    if (progress && file.total) [progress.max, progress.value] = [file.total, file.done];
    known.element.querySelector(".state").textContent = this.words_of(job, file);
  }

  build(known, job, file) {
    const { words, root, language } = this.page;
    const name = known.name || "…";
    const title = Object.assign(document.createElement("span"), { className: "file", textContent: name });
    const state = Object.assign(document.createElement("span"), { className: "state" });
    if (job.state === "failed") state.classList.add("problem");
    const actions = Object.assign(document.createElement("div"), { className: "actions" });
    const base = `${root}/api/jobs/${job.id}`;
    const label = (element, text) => element.setAttribute("aria-label", text.replace("{name}", name));
    const link = (text, labelled, address, look) => {
      const element = Object.assign(document.createElement("a"), { className: look, href: address, textContent: text });
      label(element, labelled);
      actions.append(element);
      return element;
    };
    if (job.state === "done") {
      link(words.download, words.download_name, `${base}/result`, "button main");
      if (job.compare) {
        const beside = link(words.side_by_side, words.side_by_side_name, `${base}/side-by-side?lang=${language}`, "button");
        beside.target = "_blank";
      }
    }
    if (job.state !== "uploading") {
      const running = ["queued", "running"].includes(job.state);
      const remove = Object.assign(document.createElement("button"), {
        type: "button", textContent: running ? words.cancel : words.delete,
      });
      label(remove, running ? words.cancel_name : words.delete_name);
      remove.addEventListener("click", () => this.remove(job.id));
      actions.append(remove);
    }
    known.element.replaceChildren(title, ...(job.state === "running" && file.total ? [this.bar(name)] : []), state, actions);
  }

  bar(name) {
    const progress = document.createElement("progress");
    progress.setAttribute("aria-label", name);
    return progress;
  }

  async remove(id) {
    const { root, language, problem, words } = this.page;
    try {
      const answer = await fetch(`${root}/api/jobs/${id}?lang=${language}`, { method: "DELETE" });
      if (!answer.ok && answer.status !== 404) throw new Error((await answer.json()).error);
      this.forget(id);
      this.follow();
    } catch (error) {
      problem(error instanceof TypeError ? words.offline : error.message);
    }
  }

  words_of(job, file) {
    const { words, say } = this.page;
    if (job.state === "gone") return words.gone;
    if (job.state === "failed") return file.error || words.failed;
    if (job.state === "done") return file.changed == null ? say("done", file) : say("done_changed", file);
    if (job.state !== "running") return words[job.state];
    if (!file.total) return words.reading;
    const left = file.seconds_left;
    const minutes = left >= 90 ? say("minutes", { count: Math.round(left / 60) }) : say("seconds", { count: left });
    return say("running", file) + (left == null ? "" : `, ${minutes}`);
  }
}
