// DeepL's own client for Node against a server of ours with the stub model. Run by clients.py, which fetches the client.
const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const deepl = require(path.join(process.argv[3], "node_modules", "deepl-node"));

(async () => {
  const client = new deepl.DeepLClient("any key", { serverUrl: process.argv[2], maxRetries: 0 });
  const one = await client.translateText("Hello.", "en", "de");
  assert.equal(one.text, "hELLO.");
  assert.equal(one.detectedSourceLang, "en");
  const list = await client.translateText(["One.", "Two."], "en", "de", { context: "Before." });
  assert.deepEqual(list.map((each) => each.text), ["oNE. nach 1", "tWO. nach 2"]);
  const html = await client.translateText("<b>One</b> word", "en", "de", { tagHandling: "html" });
  assert.equal(html.text, "<b>oNE</b> WORD");

  const languages = await client.getSourceLanguages();
  assert.deepEqual(languages.map((each) => each.code), ["en"]);
  assert.deepEqual((await client.getTargetLanguages()).map((each) => each.code), ["de"]);
  assert.ok((await client.getUsage()).character.count > 0);
  assert.deepEqual(await client.getGlossaryLanguagePairs(), [{ sourceLang: "en", targetLang: "de" }]);

  const entries = new deepl.GlossaryEntries({ entries: { cat: "42" } });
  const glossary = await client.createGlossary("numbers", "en", "de", entries);
  assert.equal((await client.translateText("A cat.", "en", "de", { glossary })).text, "a 42.");
  assert.deepEqual((await client.getGlossaryEntries(glossary)).entries(), { cat: "42" });
  assert.ok((await client.listGlossaries()).some((each) => each.glossaryId === glossary.glossaryId));
  await client.deleteGlossary(glossary);
  await assert.rejects(client.getGlossary(glossary.glossaryId), deepl.GlossaryNotFoundError);

  const several = await client.createMultilingualGlossary("pets", [
    { sourceLangCode: "en", targetLangCode: "de", entries },
  ]);
  assert.equal((await client.getMultilingualGlossary(several.glossaryId)).name, "pets");
  await client.deleteMultilingualGlossary(several.glossaryId);

  const [source, target] = ["notes.txt", "notes.de.txt"].map((name) => path.join(process.argv[3], name));
  fs.writeFileSync(source, "One. Two.");
  fs.rmSync(target, { force: true });
  const status = await client.translateDocument(source, target, "en", "de");
  assert.equal(status.status, "done");
  assert.equal(fs.readFileSync(target, "utf8"), "oNE. tWO. nach 1");

  await assert.rejects(client.translateText("x", "en", "fr"), /en-de/);
  await assert.rejects(client.translateText("x", "en", "de", { formality: "less" }), /formality/);
  console.log("deepl-node: all as expected");
})().catch((error) => { console.error(error); process.exit(1); });
