#!/usr/bin/env bash
# Measures ssnail-sim against llama.cpp on the same weights, one after the other in each round, and prints a Markdown
# table of medians and ratios.
#
#   against-llama.sh FOLDER_OF_LLAMA_BENCH MODEL.gguf...
#
# THREADS="1 2", ROUNDS=5, PROMPT=128, COUNT=128. Decoders: prompt and generation; encoders: the text.
set -euo pipefail
if [ $# -lt 2 ]; then
    sed -n '2,7s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
llama=$1/llama-bench
shift
threads=${THREADS:-1 2} rounds=${ROUNDS:-5} prompt=${PROMPT:-128} count=${COUNT:-128}
root=$(cd "$(dirname "$0")/../.." && pwd)
(cd "$root" && cargo build -q --release -p ssnail-convert -p ssnail-sim)
bin=$root/target/release
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# The numbers on standard input: their median.
median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
# "name": {... "median": NUMBER of ssnail-sim's JSON.
ours() { sed -n "s/.*\"$1\":{[^}]*\"median\":\([0-9.e+-]*\).*/\1/p"; }
# Converts a model for the smallest memory that takes it.
convert() {
    local mb
    for mb in 8 64 72 128; do
        "$bin/ssnail-convert" "$1" -o "$2" --mem-mb $mb --ctx "$((prompt > count ? prompt : count))" --wtype keep >/dev/null 2>&1 && return
    done
    echo "$1: no image" >&2
    return 1
}

echo "| model | threads | | llama.cpp | --hw | ratio | float | ratio |"
echo "|---|---|---|---|---|---|---|---|"
for model in "$@"; do
    name=$(basename "$model" .gguf) image=$temporary/model.ssnail
    convert "$model" "$image"
    for t in $threads; do
        rm -f "$temporary"/*.txt
        for _ in $(seq "$rounds"); do
            "$llama" -m "$model" -p "$prompt" -n "$count" -ngl 0 -t "$t" -r 1 -o jsonl 2>/dev/null >"$temporary/llama.json" ||
                "$llama" -m "$model" -p "$prompt" -n 0 -embd 1 -ngl 0 -t "$t" -r 1 -o jsonl 2>/dev/null >"$temporary/llama.json"
            sed -n 's/.*"n_gen": 0,.*"avg_ts": \([0-9.]*\).*/\1/p' "$temporary/llama.json" >>"$temporary/llama-prompt.txt"
            sed -n 's/.*"n_prompt": 0,.*"avg_ts": \([0-9.]*\).*/\1/p' "$temporary/llama.json" >>"$temporary/llama-generation.txt"
            for numerics in hw float; do
                flag=$([ $numerics = hw ] && echo --hw || true)
                "$bin/ssnail-sim" bench "$image" $flag -p "$prompt" -n "$count" -t "$t" -r 1 --json >"$temporary/ours.json"
                for what in prompt generation; do ours $what <"$temporary/ours.json" >>"$temporary/$numerics-$what.txt"; done
            done
        done
        for what in prompt generation; do
            [ -s "$temporary/hw-$what.txt" ] || continue
            l=$(median <"$temporary/llama-$what.txt") h=$(median <"$temporary/hw-$what.txt") f=$(median <"$temporary/float-$what.txt")
            awk -v n="$name" -v t="$t" -v w="$what" -v l="$l" -v h="$h" -v f="$f" \
                'BEGIN { printf "| %s | %d | %s | %.0f | %.0f | %.2f | %.0f | %.2f |\n", n, t, w, l, h, h / l, f, f / l }'
        done
    done
done
