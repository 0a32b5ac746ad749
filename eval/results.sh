#!/bin/sh
# Makes results/suite/ and what README.md shows of the results again, from the shipped suite. What it
# shows of results/local-smollm2/ is what is committed there; eval/local/results.sh makes that.
#
#   eval/results.sh           runs the suite, keeps what is published of it, rewrites the README
#   eval/results.sh --check   runs it beside, and fails if anything would change
#
# From one run to the next only the id and the time in manifest.json differ.
set -eu
cd "$(dirname "$0")/.."
farm="${CARGO_TARGET_DIR:-target}/release/farm"
new=results/.suite # beside results/suite, so that the relative paths in config.toml are the same

# The tables of how sessions stand and of the figures, the columns of both runs side by side.
columns() {
    awk -F ' *[|] *' '
        /^## / { inside = /^## (Sessions|Figures)$/ }
        !inside || !/^[|]/ { next }
        $2 == "state" { $2 = "sessions" }
        FNR == NR { first[$2] = $3; next }
        $2 == "figure" { print "" }
        { printf "| %s | %s | %s |\n", $2, ($2 in first) ? first[$2] : "–", $3 }
    ' "$@"
}

# README.md into a file, with what farm prints in its blocks: screen, trace and live, each between
# its markers <!-- NAME:begin --> and <!-- NAME:end -->, and farm's own.
readme() {
    screen=$("$farm" report results/suite | sed -n '/^figures/,/^rate/p; /^case/,/adv-011/p' | sed 's/^rate.*/…/')
    trace=$("$farm" demo --out "$new-demo" 2>/dev/null | sed -n '/^step 1/,/^$/p')
    rm -rf "$new-demo"
    live=$(columns results/suite/summary.md results/local-smollm2/summary.md)
    fence='```'
    screen=$fence"text
$screen
$fence" trace=$fence"text
$trace
$fence" live="
$live
" awk '
        /^<!-- (screen|trace|live):end -->$/ { inside = 0 }
        !inside { print }
        /^<!-- (screen|trace|live):begin -->$/ {
            inside = 1
            split($2, name, ":")
            print ENVIRON[name[1]]
        }
    ' README.md >"$1"
    "$farm" report results/suite --into "$1"
}

cargo build --release --quiet
rm -rf "$new"
trap 'rm -rf "$new" "$new-demo" README.md.new' EXIT
trap 'exit 130' INT TERM
"$farm" run eval/cases.jsonl --seeds 12 --out "$new" --quiet
# What can be made again at will, and what names the host.
rm -rf "$new/farm.db" "$new/traces" "$new/lock" "$new/timing.json"
"$farm" report "$new" --format svg >"$new/forest.svg"

if [ "${1:-}" = --check ]; then
    diff -ru --exclude=manifest.json results/suite "$new"
    readme README.md.new
    diff -u README.md README.md.new
    echo "results/suite and README.md are up to date"
else
    rm -rf results/suite
    mv "$new" results/suite
    readme README.md.new
    mv README.md.new README.md
    echo "results/suite and README.md are remade"
fi
