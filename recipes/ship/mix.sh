#!/bin/sh
# The data of recipes/ship/en-de.yaml, from the corpora in src/docflat/weights/models/en-de/README.md:
#
#   recipes/ship/mix.sh DATA OUT [TOKENIZER]
#
# With TOKENIZER (en-de: that of the model that ships) no subwords are learned, as for a stage that goes on from it.
# DATA has them as NAME.en.xz and NAME.de.xz, an empty line between documents. OUT becomes a folder of `docflat prepare`.
# What is taken may go into weights that are given away. TED, News, ContraPro and the dev and test sets are for
# measuring only: they are in OUT/valid or in no part of it, and their sentences are kept out of OUT/train.
set -eu
data=$(realpath "$1") recipe=$(realpath "$0") out=$(realpath -m "$2") tokenizer=${3:-}
if [ -e "$tokenizer" ]; then tokenizer=$(realpath "$tokenizer"); fi  # a path, from here; else a name
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/europarl" "$work/subwords"
for folder in dialogue everyday software web; do ln -s "$data/$folder" "$work/$folder"; done

for side in en de; do
  # Europarl is in order of time, and its first 152,027 lines have the old spelling (daß, muß): not for today's readers.
  xz -dc "$data/europarl/train.$side.xz" | tail -n +152028 > "$work/europarl/train.$side"
  # Subwords are learned from its last 400,000 lines and all the rest, so that Parliament is half of that, and not 80%.
  tail -n 400000 "$work/europarl/train.$side" > "$work/europarl/late.$side"
  # Whole documents of some 1,000 sentences of each of the paper's dev sets.
  head -n 1097 "$data/europarl/dev.$side" > "$work/europarl-dev.$side"
  head -n 1196 "$data/ted/dev.$side" > "$work/ted-dev.$side"
  head -n 1047 "$data/news/dev.$side" > "$work/news-dev.$side"
done
xz -dc "$data/contrapro/contrapro.jsonl.xz" |
  python3 -c 'import json, sys; [print(json.loads(line)["src"]) for line in sys.stdin]' > "$work/contrapro.en"

others="dialogue/bcontrast-train everyday/tatoeba everyday/ding-examples everyday/cocoa
  web/debian web/fsfe web/mozilla web/ethereum web/tails web/xquad web/geneval"
for file in "$data"/software/*.en.xz; do others="$others software/$(basename "$file" .en.xz)"; done
sources="" targets=""
for name in $others; do
  sources="$sources $name.en.xz" targets="$targets $name.de.xz"
done
# The same sentences once more: those from which pronouns are learned, so that the recipe can show them more often.
documents=$(printf '%s\n' europarl/train $others | grep -v '^everyday/\|^web/geneval')
mkdir "$work/pronouns"
find_pronouns() { (cd "$work" && python3 "$(dirname "$recipe")/pronouns.py" "$@"); }
find_pronouns named pronouns/it 2 2 $documents
find_pronouns named pronouns/placed 2 7 $documents
find_pronouns neuter pronouns/neuter 2 7 $documents
find_pronouns unnamed pronouns/unnamed 1 6 everyday/tatoeba everyday/ding-examples
loose="everyday/* web/geneval"  # sentences without documents
tests="$data/europarl/dev.en $data/europarl/test.en $data/ted/dev.en $data/ted/test.en $data/news/dev.en
  $data/news/test.en contrapro.en"

cd "$work"
set -f  # $loose has globs for docflat, not for the shell
if [ -z "$tokenizer" ]; then
  docflat prepare --source europarl/late.en $sources --target europarl/late.de $targets \
    --loose $loose --clean --exclude $tests --hold-out 0 --vocabulary 32000 --learn-from 2000000 --out subwords/learned
  tokenizer=subwords/learned/tokenizer.json
fi
for name in it placed neuter unnamed; do
  sources="$sources pronouns/$name.en" targets="$targets pronouns/$name.de"
done
docflat prepare --source europarl/train.en $sources --target europarl/train.de $targets \
  --loose $loose --clean --exclude $tests --tokenizer "$tokenizer" \
  --valid-source europarl-dev.en ted-dev.en news-dev.en --valid-target europarl-dev.de ted-dev.de news-dev.de \
  --force --out "$out"
