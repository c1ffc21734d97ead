#!/bin/sh
# Starts Lamella from any folder, or says that this system is too old for it.
needed=@GLIBC@
found=$(getconf GNU_LIBC_VERSION 2>/dev/null)
found=${found#glibc }
oldest=$(printf '%s\n%s\n' "$needed" "${found:-0}" | sort -V | head -n 1)
if [ "$oldest" != "$needed" ]; then
    echo "lamella: this system is too old. Lamella needs the GNU C library $needed or newer; here is ${found:-another C library}." >&2
    echo "lamella: it runs on Debian 12, Ubuntu 22.04, Fedora 36 and later ones." >&2
    exit 2
fi
exec "$(dirname "$(readlink -f "$0")")/lib/lamella" "$@"
