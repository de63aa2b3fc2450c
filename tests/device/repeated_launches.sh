#!/bin/sh
# A program whose kernels run once each and depend on each other is counted in one run and gives the right result.
# Usage: repeated_launches.sh RIDGE PROGRAM   (passes with a note if there is no GPU)
set -u
"$2"
[ $? -eq 2 ] && { echo "no GPU here"; exit 0; }
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
"$1" profile --counters --format json -o "$folder/run" -- "$2" >"$folder/report.json" 2>"$folder/said" || { cat "$folder/said"; exit 1; }
cat "$folder/said"
if grep -q "no counters" "$folder/report.json"; then echo "the driver keeps counters from this user"; exit 0; fi
grep -q "running the program again" "$folder/said" && { echo "it took more than one run"; exit 1; }
counted=$(grep -o '"vector_flop"' "$folder/report.json" | wc -l)
[ "$counted" -eq 40 ] || { echo "$counted kernels of 40 were counted"; exit 1; }
