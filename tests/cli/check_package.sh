#!/usr/bin/env bash
# Packs the build, unpacks it into a root that holds nothing else but the loader, libc and libm, and runs the
# program there. So it needs no other library and no file of the system. Also checks the manual page, the
# completions, the licences and the Debian package. Usage: check_package.sh CMAKE BUILD_FOLDER. Exit code 77: skipped.
set -euo pipefail
cmake=$1 build=$2
skip() { echo "skipped: $1"; exit 77; }
fail() { echo "FAILED: $1" >&2; exit 1; }
cpack=$(dirname "$cmake")/cpack
[ -x "$cpack" ] || cpack=$(command -v cpack) || skip "no cpack"
for tool in tar ldd chroot; do command -v "$tool" >/dev/null || skip "no $tool"; done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$build" && "$cpack" -G TGZ -B "$folder/made") >"$folder/log" 2>&1 || { cat "$folder/log"; fail cpack; }
root=$folder/root
mkdir "$root"
tar xzf "$folder"/made/ridge-*.tar.gz -C "$root" --strip-components=1

# What the program needs from the system: only the C library.
ldd "$root/bin/ridge" >"$folder/needs"
cat "$folder/needs"
while read -r name arrow path _; do
  case "$name" in
    linux-vdso*) continue ;;
    libc.so* | libm.so* | libpthread.so* | libdl.so* | librt.so*) ;;
    */ld-linux* | */ld64*) path=$name ;;
    *) fail "the program needs $name $arrow" ;;
  esac
  mkdir -p "$root$(dirname "$path")"
  cp -L "$path" "$root$path"
done <"$folder/needs"

enter=(chroot "$root")
if [ "$(id -u)" -ne 0 ]; then enter=(unshare --map-root-user chroot "$root"); fi
"${enter[@]}" /bin/ridge --version >"$folder/version" 2>"$folder/why" ||
  {
    cat "$folder/why"
    grep -qiE 'not permitted|permission|unshare' "$folder/why" && skip "chroot is not allowed here"
    fail "the program does not start"
  }
ridge() { env -i PATH="$PATH" "${enter[@]}" /bin/ridge "$@"; }
expect() { grep -qE -- "$1" "$folder/out" || { cat "$folder/out"; fail "no '$1'"; }; }

grep -qE '^ridge [0-9]+\.[0-9]+\.[0-9]+$' "$folder/version" || fail "version"
ridge predict matmul --m 4096 --n 4096 --k 4096 --dtype bf16 --gpu h100-sxm >"$folder/out"
expect '^  time +[0-9.]+ us'
ridge vram attention --seq 4096 --heads 32 --head-dim 128 --impl standard >"$folder/out"
expect 'total'
ridge roofline --gpu h100-sxm --op "matmul m=4096 n=4096 k=4096" -o /file.svg >"$folder/out"
tail -c 100 "$root/file.svg" | grep -q '</svg>' || fail "the chart is not complete"
code=0
ridge doctor >"$folder/out" 2>&1 || code=$?
cat "$folder/out"
[ "$code" -eq 3 ] || fail "doctor without a device returns $code, not 3"
expect '^MISS device'
expect '^ok +predictions'

for shell in bash-completion/completions/ridge zsh/vendor-completions/_ridge fish/vendor_completions.d/ridge.fish; do
  grep -q predict "$root/share/$shell" || fail "$shell"
done
for text in README.md LICENSE LICENSES; do [ -s "$root/share/doc/ridge/$text" ] || fail "$text"; done
page=$root/share/man/man1/ridge.1
while read -r command; do
  grep -qx "\.SS \"ridge $command\"" "$page" || fail "the manual page lacks $command"
  while read -r option; do
    grep -qF -- "${option//-/\\-}" "$page" || fail "the manual page lacks $option of $command"
  done < <("$root/bin/ridge" "$command" --help | grep -oE '^ +(-[a-zA-Z],)?--[a-z][a-z0-9-]*' | grep -oE -- '--[a-z0-9-]+')
done < <("$root/bin/ridge" --help | awk '/^Subcommands:/ {on = 1; next} /^[^ ]/ {on = 0} on && /^  [a-z]/ {print $1}')
if command -v groff >/dev/null; then
  groff -man -Tutf8 -ww "$page" >/dev/null 2>"$folder/why"
  [ -s "$folder/why" ] && { cat "$folder/why"; fail "troff warns of the manual page"; }
fi

if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
  (cd "$build" && "$cpack" -G DEB -B "$folder/made") >"$folder/log" 2>&1 || { cat "$folder/log"; fail cpack; }
  deb=$(echo "$folder"/made/ridge_*.deb)
  dpkg-deb -f "$deb" Depends >"$folder/out"
  cat "$folder/out"
  grep -qE '^libc6 \(>= [0-9.]+\)$' "$folder/out" || fail "the Debian package depends on more than libc6"
  dpkg-deb -c "$deb" >"$folder/out"
  grep -q ' ./usr/bin/ridge$' "$folder/out" || { cat "$folder/out"; fail "no /usr/bin/ridge in the Debian package"; }
fi
echo "portable: fine"
