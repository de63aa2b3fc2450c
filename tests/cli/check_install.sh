#!/usr/bin/env bash
# Installs into a fresh folder, moves it, runs the program from there and builds a program that uses the
# installed package through its public headers. Headers that these do not need are not installed, and each public
# header compiles alone. Usage: check_install.sh CMAKE BUILD_FOLDER CONSUMER_SOURCE CXX
set -euo pipefail
cmake=$1 build=$2 consumer=$3 compiler=$4
root=$consumer/../..
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --prefix "$folder/first" >/dev/null
mv "$folder/first" "$folder/moved"
"$folder/moved/bin/ridge" predict matmul --m 4096 --n 4096 --k 4096 --gpu h100-sxm
"$cmake" -S "$consumer" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/moved" \
  -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
"$cmake" --build "$folder/build"
"$folder/build/consumer" "$root/records/h100-sxm/copy.jsonl.gz" "$root/tests/programs/traces/trace_llama_compiled.json.gz"

include=$folder/moved/include
for header in "$include"/ridge/*.h; do
  echo "#include <ridge/${header##*/}>" | "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Werror \
    -I"$include" -I"$include/ridge/internal" -x c++ -
done
installed=$(cd "$include" && find . -name '*.h' | wc -l)
listed=$("$cmake" -DROOT="$root" -P "$root/cmake/RidgePublicHeaders.cmake" | wc -l)
[ "$installed" -eq "$listed" ] || { echo "$installed headers are installed, $listed are public or needed by them" >&2; exit 1; }
if find "$include" -path '*cli*' -o -path '*cuda*' | grep .; then
  echo "headers of the program or of CUDA are installed" >&2
  exit 1
fi
