#!/bin/sh
# Measures what a run costs that is killed, watched or ended, and prints each as a ratio to its bar
# (below 1.00 is better). The ratios belong to the machine; the bars are for two cores.
#
#   resume     a run of 200,000 finished sessions and 1,000 more to do: from the start of the
#              process to the first session
#   status     `farm status` beside that run with another 1,000 in flight, median of 20
#   interrupt  from the second signal to the end of a run with 1,000 in flight
#   hanging    the same with 500 calls over HTTP in flight that are never answered; what the run
#              leaves is gone on with
#
# Needs 2 GB of disk under TMPDIR, GNU date and curl.
set -eu
cd "$(dirname "$0")/.."
cargo build --release --quiet
farm="$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/release/farm"
dir=$(mktemp -d)
pid=
mock=
# shellcheck disable=SC2086 # nothing, or one number
trap 'kill -s KILL $mock 2>/dev/null; rm -rf "$dir"' EXIT
trap '[ -z "$pid" ] || kill -s KILL "$pid"; exit 130' INT TERM
cd "$dir"

now() { date +%s%N; }
# NAME, nanoseconds, milliseconds of the bar
bar() {
    awk -v name="$1" -v ns="$2" -v bar="$3" 'BEGIN {
        printf "%-10s %8.1f ms, ratio to bar %.3f (bar %d ms)\n", name, ns / 1e6, ns / 1e6 / bar, bar
    }'
}
# Fails unless a command ends with this exit code.
exits() {
    want=$1
    shift
    code=0
    "$@" || code=$?
    [ "$code" = "$want" ] || { echo "exit $code, not $want: $*" >&2; exit 1; }
}

awk 'BEGIN {
    for (n = 0; n < 1000; n++) {
        a = n + 11
        printf "{\"id\":\"c%04d\",\"task\":\"What is %d * 7?\",\"tools\":[\"calculator\"],\"script\":[{\"thought\":\"I will multiply.\",\"tool_call\":{\"tool\":\"calculator\",\"args\":{\"expression\":\"%d * 7\"}}},{\"answer\":\"{{observation}}\"}]}\n", n, a, a >"cases.jsonl"
        printf "{\"id\":\"c%04d\",\"checks\":[{\"kind\":\"answer_number\",\"equals\":%d}]}\n", n, a * 7 >"sealed.jsonl"
    }
}'
echo '[models.scripted]
kind = "scripted"' >fast.toml
{ cat fast.toml; echo 'latency_ms = 5000'; } >slow.toml
suite="cases.jsonl --sealed sealed.jsonl --quiet"

# shellcheck disable=SC2086 # the words of $suite
exits 0 "$farm" run $suite --config fast.toml --seeds 200 --concurrency 256 --out done
began=$(now)
exits 0 "$farm" resume done --quiet --seeds 201 -v --log resume.log
first=$(sed -n 's/ .* run begins .*//p' resume.log | head -n 1)
bar resume $(($(date -d "$first" +%s%N) - began)) 2000

# Waits until a log tells of so many sessions in flight.
in_flight() {
    tries=0
    until [ "$(grep -c 'asks key=' "$1" 2>/dev/null)" -ge "$2" ] 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { echo "$2 sessions are not in flight" >&2; kill -s KILL $pid; exit 1; }
        sleep 0.05
    done
}

"$farm" resume done --config slow.toml --seeds 203 --concurrency 1000 --quiet -vv --log live.log &
pid=$!
in_flight live.log 1000
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    began=$(now)
    exits 0 "$farm" status done >/dev/null 2>&1
    echo $(($(now) - began))
done >status.ns
bar status "$(sort -n status.ns | sed -n 10p)" 100
kill -s KILL $pid
wait $pid || true
pid=

# shellcheck disable=SC2086
"$farm" run $suite --config slow.toml --seeds 3 --concurrency 1000 --out ended -vv --log ended.log &
pid=$!
in_flight ended.log 1000
# Ends the run with two signals: the name of the bar, and its milliseconds.
interrupt() {
    kill -s INT $pid
    sleep 0.2
    kill -0 $pid # still at work
    kill -s INT $pid
    began=$(now)
    exits 3 wait $pid
    pid=
    bar "$1" $(($(now) - began)) "$2"
}
interrupt interrupt 1000

# Starts a server of the scripts with these options, and writes a config that asks it.
serve() {
    : >mock.url
    "$farm" mock cases.jsonl --config fast.toml --for 10m "$@" >mock.url 2>mock.said &
    mock=$!
    tries=0
    until [ -s mock.url ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { echo "the mock does not listen" >&2; exit 1; }
        sleep 0.05
    done
    echo "[models.live]
kind = \"openai\"
base_url = \"$(cat mock.url)\"
model = \"bars\"
slots.start = 500" >live.toml
}
# Ends it; what it has seen is to hold this.
served() {
    kill -s INT $mock
    wait $mock
    mock=
    grep -q "$1" mock.said || { echo "the mock has not seen $1:" >&2; cat mock.said >&2; exit 1; }
}

# Waits until the server has so many requests that hang.
hang() {
    stats="$(sed 's,/v1$,/stats,' mock.url)"
    tries=0
    until curl --silent --fail --noproxy '*' "$stats" | grep -q "\"hanging\":$1,"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { echo "$1 requests do not hang" >&2; kill -s KILL $pid; exit 1; }
        sleep 0.05
    done
}

serve --hanging 1.0
# shellcheck disable=SC2086
"$farm" run $suite --config live.toml --no-probe --concurrency 500 --out hung &
pid=$!
hang 500
interrupt hanging 2000
served '500 hanging'
serve
exits 0 "$farm" resume hung --config live.toml --quiet
served ok
