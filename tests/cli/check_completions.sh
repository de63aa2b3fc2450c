#!/usr/bin/env bash
# Checks that the completions are valid for each installed shell and that bash really completes.
# Usage: check_completions.sh RIDGE
set -euo pipefail
ridge=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for shell in bash zsh fish; do
  "$ridge" completions "$shell" >"$folder/$shell"
  grep -q predict "$folder/$shell"
  if command -v "$shell" >/dev/null; then
    "$shell" -n "$folder/$shell"
    echo "$shell: valid"
  fi
done
# shellcheck disable=SC1091
source "$folder/bash"
complete_words() {
  COMP_WORDS=("$@")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  _ridge
  printf '%s\n' "${COMPREPLY[@]}"
}
complete_words ridge pre | grep -x predict >/dev/null
complete_words ridge predict att | grep -x attention >/dev/null
complete_words ridge predict --gpu h200-s | grep -x h200-sxm >/dev/null
complete_words ridge predict attention --kv | grep -x -- --kv-heads >/dev/null
complete_words ridge predict matmul --impl tor | grep -x torch >/dev/null
complete_words ridge predict matmul --impl fla | grep -x flash2 >/dev/null && exit 1
complete_words ridge predict attention --impl fla | grep -x flash2 >/dev/null
complete_words ridge predict matmul --dtype f | grep -x fp8 >/dev/null
complete_words ridge sweep softmax --l2 c | grep -x cold >/dev/null
complete_words ridge sweep softmax --y b | grep -x bandwidth >/dev/null
complete_words ridge compare matmul --format m | grep -x md >/dev/null
complete_words ridge vram kv-cache --kind g | grep -x gqa >/dev/null
complete_words ridge gpus show a100-s | grep -x a100-sxm-80gb >/dev/null
complete_words ridge compare matmul --gpu a100-sxm-80gb,h200-s | grep -x a100-sxm-80gb,h200-sxm >/dev/null
complete_words ridge compare attention --impl standard,fla | grep -x standard,flash2 >/dev/null
complete_words ridge gpus ti | grep -x timeline >/dev/null
echo "bash: completes"
