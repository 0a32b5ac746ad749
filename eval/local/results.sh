#!/bin/sh
# Makes results/local-smollm2/ again: the shipped suite on the small model that eval/local/serve.sh
# has to be serving meanwhile, and what is published of that run. It takes the better part of an hour
# on two cores. eval/results.sh then brings README.md up to date.
set -eu
cd "$(dirname "$0")/../.."
farm="${CARGO_TARGET_DIR:-target}/release/farm"
new=results/.local # beside results/local-smollm2, so that the relative paths in config.toml are the same

cargo build --release --quiet
# A run that broke off goes on.
if [ -e "$new" ]; then
    "$farm" resume "$new"
else
    "$farm" run eval/cases.jsonl --config eval/local/farm.toml --seeds 12 --out "$new"
fi
"$farm" report "$new" --format svg >"$new/forest.svg"
"$farm" report "$new" --failures --format md >"$new/failures.new"
sed "s|$new|results/local-smollm2|g" "$new/failures.new" >"$new/failures.md"
# What can be made again, and what names the host; traces stay, from which it can be run again.
rm -rf "$new/farm.db" "$new/lock" "$new/timing.json" "$new/failures.new"
rm -rf results/local-smollm2
mv "$new" results/local-smollm2
echo "results/local-smollm2 is remade; eval/results.sh shows it in README.md"
