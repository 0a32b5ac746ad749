#!/bin/sh
# Makes results/suite/ and what README.md shows of it again, from the shipped suite.
#
#   eval/results.sh           runs the suite, keeps what is published of it, rewrites the README
#   eval/results.sh --check   runs it beside, and fails if anything would change
#
# From one run to the next only the id and the time in manifest.json differ.
set -eu
cd "$(dirname "$0")/.."
farm="${CARGO_TARGET_DIR:-target}/release/farm"
new=results/.suite # beside results/suite, so that the relative paths in config.toml are the same

# README.md with what farm prints between its markers, <!-- NAME:begin --> to <!-- NAME:end -->.
readme() {
    screen=$("$farm" report results/suite | sed -n '/^figures/,/^share/p; /^case/,/adv-011/p' | sed 's/^share.*/…/')
    trace=$("$farm" demo --out "$new-demo" 2>/dev/null | sed -n '/^step 1/,/^$/p')
    results=$("$farm" report results/suite --format md | sed 's/^#/###/')
    rm -rf "$new-demo"
    screen=$screen trace=$trace results=$results awk '
        /^<!-- [a-z]+:end -->$/ { inside = 0 }
        !inside { print }
        /^<!-- [a-z]+:begin -->$/ {
            inside = 1
            split($2, name, ":")
            fence = name[1] == "results" ? "" : "```text\n"
            print fence ENVIRON[name[1]] (fence ? "\n```" : "")
        }
    ' README.md
}

cargo build --release --quiet
rm -rf "$new"
trap 'rm -rf "$new" "$new-demo" README.md.new' EXIT
trap 'exit 130' INT TERM
"$farm" run eval/cases.jsonl --seeds 12 --out "$new" --quiet
# What can be made again at will, and what names the host.
rm -rf "$new/farm.db" "$new/traces" "$new/lock" "$new/timing.json"

if [ "${1:-}" = --check ]; then
    diff -ru --exclude=manifest.json results/suite "$new"
    readme | diff -u README.md -
    echo "results/suite and README.md are up to date"
else
    rm -rf results/suite
    mv "$new" results/suite
    readme >README.md.new
    mv README.md.new README.md
    echo "results/suite and README.md are remade"
fi
