#!/bin/sh
# Runs a command in a new, empty home: no fetched data, no cache and no part files of the user's. The folder is removed
# afterwards. What somebody once fetched by hand can then not hide a step that is missing.
home=$(mktemp -d) || exit 1
trap 'rm -rf "$home"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir "$home/matplotlib"
env -u FEDRADIO_DATA -u FEDRADIO_PARTS -u FEDRADIO_LOG \
  HOME="$home" \
  XDG_CACHE_HOME="$home/cache" \
  XDG_CONFIG_HOME="$home/config" \
  XDG_DATA_HOME="$home/share" \
  FEDRADIO_HOME="$home/fedradio" \
  MPLCONFIGDIR="$home/matplotlib" \
  "$@"
