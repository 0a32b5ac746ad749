#!/bin/sh
# Makes results/mcp-files/ again: cases whose tools are those of a public MCP server, which npm
# installs into the target folder.
#
#   eval/mcp/results.sh           runs the cases and keeps what is published of that
#   eval/mcp/results.sh --check   runs them beside, and fails if any figure or step would change
#
# From one run to the next only ids and times differ.
set -eu
cd "$(dirname "$0")/../.."
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
farm="$target/release/farm"
new=results/.mcp # beside results/mcp-files, so that the relative paths in config.toml are the same

cargo build --release --quiet
mkdir -p "$target/eval-mcp"
cp eval/mcp/package.json eval/mcp/package-lock.json "$target/eval-mcp"
npm ci --silent --no-audit --no-fund --prefix "$target/eval-mcp"
PATH="$target/eval-mcp/node_modules/.bin:$PATH"
rm -rf "$new"
trap 'rm -rf "$new"' EXIT
trap 'exit 130' INT TERM
"$farm" run eval/mcp/files.jsonl --config eval/mcp/farm.toml --seeds 12 --out "$new" --quiet
# What can be made again, and what names the host; traces stay, which show what the server said.
rm -rf "$new/farm.db" "$new/lock" "$new/timing.json"

if [ "${1:-}" = --check ]; then
    diff -ru --exclude=manifest.json --exclude=traces results/mcp-files "$new"
    "$farm" trace diff results/mcp-files "$new"
    echo "results/mcp-files is up to date"
else
    rm -rf results/mcp-files
    mv "$new" results/mcp-files
    echo "results/mcp-files is remade"
fi
