#!/bin/bash
# Puts scikit-learn's digits (1,797 pictures of 8 by 8, with their labels; 57 kB, gzipped CSV) where the example
# job finds them:
#
#   tools/digits.sh FILE
#
# The file is taken out of Debian's package python3-sklearn without installing it: the package depends on Boost
# 1.74 and cannot be installed beside the Boost that we build with. Needs no root. The data is the test set of
# "Optical Recognition of Handwritten Digits", E. Alpaydin and C. Kaynak, UCI Machine Learning Repository.
set -euo pipefail

(($# == 1)) || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
target=$(realpath -m "$1")
inside=usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz
[[ -s $target ]] && exit 0
mkdir -p "$(dirname "$target")"
if [[ -s /$inside ]]; then
  cp "/$inside" "$target"
  exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
cd "$scratch"
if ! apt-get download -qq python3-sklearn >log 2>&1; then
  cat log >&2
  echo "digits: cannot fetch the package python3-sklearn: run apt-get update as root, then again" >&2
  exit 1
fi
dpkg-deb -x python3-sklearn_*.deb tree
cp "tree/$inside" "$target.new"
mv "$target.new" "$target"
