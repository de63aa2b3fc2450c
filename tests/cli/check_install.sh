#!/usr/bin/env bash
# Installs into a fresh folder, moves it, runs the program from there and builds a program that uses the
# installed package. Usage: check_install.sh CMAKE BUILD_FOLDER CONSUMER_SOURCE CXX
set -euo pipefail
cmake=$1 build=$2 consumer=$3 compiler=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --prefix "$folder/first" >/dev/null
mv "$folder/first" "$folder/moved"
"$folder/moved/bin/ridge" predict matmul --m 4096 --n 4096 --k 4096 --gpu h100-sxm
"$cmake" -S "$consumer" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/moved" \
  -DCMAKE_CXX_COMPILER="$compiler" >/dev/null
"$cmake" --build "$folder/build"
"$folder/build/consumer"
