#!/bin/sh
# install.sh [PREFIX]
#
# Copies this folder's files below PREFIX (~/.local; /usr/local for root) and writes the program's place into those
# that name it. The program alone needs none of that: it runs from where it is.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ "$(id -u)" = 0 ]; then prefix=${1:-/usr/local} mode=0711; else prefix=${1:-$HOME/.local} mode=0755; fi
mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd)
(cd "$here" && find bin libexec share lib \( -type f -o -type l \)) | while IFS= read -r file; do
    mkdir -p "$prefix/$(dirname "$file")"
    rm -f "$prefix/$file"
    case $file in
    bin/credmgr | libexec/credmgr/credmgr) install -m "$mode" "$here/$file" "$prefix/$file" ;;
    *.desktop | *.service) sed "s|@prefix@|$prefix|" "$here/$file" >"$prefix/$file" ;;
    *) cp -P "$here/$file" "$prefix/$file" ;;
    esac
done
echo "installed $prefix/bin/credmgr"
