#!/usr/bin/env bash
# Lets apt see further components of Debian, for programs that are not in main:
#
#   scripts/enable-components.sh contrib non-free    # adds them
#   scripts/enable-components.sh --remove            # takes them away again
#
# Mirror, suite and keys are those that apt already uses for Debian; only the components differ. They go
# into a file of their own, so that nothing that was there is changed and --remove leaves no trace.
set -euo pipefail

target=/etc/apt/sources.list.d/fsarena-components

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "run as root: $0 $*" >&2; exit 1; }
  as_root=(sudo)
fi

if [ "${1:-}" = --remove ]; then
  [ -e "$target.sources" ] || [ -e "$target.list" ] || exit 0
  "${as_root[@]}" rm -f "$target.sources" "$target.list"
  "${as_root[@]}" apt-get update --quiet
  exit 0
fi
[ $# -gt 0 ] || { echo "usage: $0 COMPONENT… | --remove" >&2; exit 2; }
components=$*

# Sites that call themselves Debian, as they stand in apt's own settings.
sites=$(apt-get indextargets --format '$(ORIGIN) $(SITE)' 'Created-By: Packages' |
  awk '$1 == "Debian" { print $2 }' | sort -u)
[ -n "$sites" ] || { echo "apt knows no Debian mirror: run apt-get update first" >&2; exit 1; }

# Stanzas (sources.list(5), deb822 style) with such a site, with their components replaced.
stanzas() {
  awk -v sites="$sites" -v components="$components" '
    BEGIN { RS = ""; FS = "\n"; count = split(sites, site) }
    {
      ours = 0; enabled = 1; text = ""; skipping = 0
      for (i = 1; i <= NF; i++) {
        if ($i ~ /^#/) continue
        if ($i ~ /^[ \t]/ && skipping) continue
        skipping = 0
        if ($i ~ /^Enabled:[ \t]*no/) enabled = 0
        if ($i ~ /^URIs:/) for (s = 1; s <= count; s++) if (index($i, site[s])) ours = 1
        if ($i ~ /^Components:/) { text = text "Components: " components "\n"; skipping = 1; continue }
        text = text $i "\n"
      }
      if (ours && enabled) printf "%s\n", text
    }' "$@"
}

# One-line entries with such a site, with their components replaced.
lines() {
  awk -v sites="$sites" -v components="$components" '
    BEGIN { count = split(sites, site) }
    /^deb[ \t]/ {
      uri = 2
      if ($2 ~ /^\[/) { while ($uri !~ /\]$/) uri++; uri++ }
      ours = 0
      for (s = 1; s <= count; s++) if (index($uri, site[s]) == 1) ours = 1
      if (!ours) next
      text = $1
      for (i = 2; i <= uri + 1; i++) text = text " " $i
      print text " " components
    }' "$@"
}

shopt -s nullglob
directory=/etc/apt/sources.list.d
deb822=$(for file in "$directory"/*.sources; do [ "$file" = "$target.sources" ] || stanzas "$file"; done)
one_line=$(for file in /etc/apt/sources.list "$directory"/*.list; do
  if [ -e "$file" ] && [ "$file" != "$target.list" ]; then lines "$file"; fi
done)

[ -z "$deb822" ] || printf '%s\n' "$deb822" | "${as_root[@]}" tee "$target.sources" >/dev/null
[ -z "$one_line" ] || printf '%s\n' "$one_line" | "${as_root[@]}" tee "$target.list" >/dev/null
echo "apt now sees $components of Debian; undo with: scripts/enable-components.sh --remove"
"${as_root[@]}" apt-get update --quiet
