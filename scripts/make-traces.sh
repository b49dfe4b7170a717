#!/usr/bin/env bash
# Records the traces of the suite `traces`; `fsarena trace make` runs it:
#   make-traces.sh packages NAME…            the Debian packages that are needed and not there
#   make-traces.sh FSARENA DIRECTORY NAME…   records them into a directory
#
# Each function below makes what its trace begins with and records one piece of work. All data is generated, or comes
# from Debian's packages by their names. Needs root, for PostgreSQL is run as its own user and dpkg makes what root owns.
set -euo pipefail

declare -A packages=(
  [lua]="tcc make xz-utils" [sed]="gcc libc6-dev make xz-utils" [git]=git [mail]=openssl [sqlite]=sqlite3
  [postgresql]=postgresql [packages]="" [image]=openssl [backup]="openssl rsync" [photos]=openssl
)
if [ "$1" = packages ]; then
  shift
  for name in "$@"; do
    for package in strace ${packages[$name]}; do
      dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || echo "$package"
    done
  done | sort -u
  exit
fi

export LC_ALL=C TZ=UTC PATH=/usr/sbin:/usr/bin:/sbin:/bin
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null HOME=/nonexistent

fsarena=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
umask 022

# record NAME DIRECTORY COMMAND…: runs a command in a directory and records what it does there.
record() {
  local name=$1 directory=$2
  shift 2
  (cd "$directory" && "$fsarena" trace record --output "$out/$name.trace" -- "$@") \
    >"$work/$name.log" 2>&1 </dev/null || { cat "$work/$name.log" >&2; echo "$name failed" >&2; exit 1; }
}

# data FILE BYTES SEED: a file of bytes that no filesystem can compress, and that are the same every time.
data() { { openssl enc -aes-128-ctr -nosalt -pass "pass:$3" -pbkdf2 -in /dev/zero 2>/dev/null || :; } | head -c "$2" >"$1"; }

# source_of PACKAGE: brings the source of a Debian package, with apt's lists and cache in a directory of its own.
source_of() {
  local state=$work/apt
  if [ ! -d "$state" ]; then
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    apt-get indextargets --format '$(ORIGIN) deb-src $(REPO_URI) $(RELEASE) main' 'Created-By: Packages' |
      awk '$1 == "Debian" { $1 = ""; print }' | sort -u >"$state/sources.list"
  fi
  local apt=(apt-get -q -o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache" -o APT::Sandbox::User=root)
  [ -e "$state/updated" ] || { "${apt[@]}" update >/dev/null && touch "$state/updated"; }
  (cd "$state" && "${apt[@]}" source --download-only "$1" >/dev/null)
  echo "$state/$1"_*.orig.tar.?z
}

# An interpreter is unpacked and built with a small compiler.
trace_lua() {
  local tar
  tar=$(source_of lua5.4)
  mkdir "$work/lua"
  record lua "$work/lua" sh -c "tar xf $tar && make -s -C lua-* CC=tcc AR='ar rc' RANLIB=ranlib generic"
}

# A program is unpacked, configured and built with gcc. What configure finds out by compiling is known from before:
# that alone would be more than all the rest.
trace_sed() {
  local tar configure
  tar=$(source_of sed)
  configure="FORCE_UNSAFE_CONFIGURE=1 ./configure -q --disable-nls --disable-acl --disable-dependency-tracking"
  mkdir "$work/sed" "$work/configured"
  (cd "$work/configured" && tar xf "$tar" && cd sed-* && eval "$configure --cache-file=$work/cache" >/dev/null)
  record sed "$work/sed" sh -c "tar xf $tar && cd sed-* && cp $work/cache config.cache && $configure -C && make -s sed/sed"
}

# A repository is cloned, and its work tree goes from one tag to another and back.
trace_git() {
  local top=$work/git repository=$work/git/origin
  mkdir -p "$repository"
  export GIT_AUTHOR_DATE=2024-01-01T00:00:00Z GIT_COMMITTER_DATE=2024-01-01T00:00:00Z
  export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e
  (
    cd "$repository"
    git init -q -b main
    for commit in $(seq 30); do
      for file in $(seq 20); do
        mkdir -p "d$((file % 7))/e$((commit % 5))"
        seq $((commit * file)) $((commit * file + 300)) >"d$((file % 7))/e$((commit % 5))/f$file"
      done
      [ "$commit" -ne 20 ] || git rm -q -r -f d3
      git add -A
      git commit -q -m "$commit"
      git tag "v$commit"
    done
    git gc -q
  )
  record git "$top" sh -c 'git clone -q --no-local --no-hardlinks origin work && cd work &&
    git checkout -q v10 && git checkout -q v25 && git checkout -q v10 && git status -s && git log --stat >/dev/null'
}

# Mail is delivered to a directory, each message safe on the disk before it is seen, read, and purged.
trace_mail() {
  mkdir -p "$work/mail"
  for size in 1 2 4 8 32; do data "$work/message$size" $((size * 700)) "$size"; done
  record mail "$work/mail" sh -c "mkdir tmp new cur
    for n in \$(seq 100); do
      set -- 1 2 1 4 2 8 1 2 4 32; shift \$((n % 10))
      cat $work/message\$1 >tmp/\$n.host && sync tmp/\$n.host && ln tmp/\$n.host new/\$n.host && rm tmp/\$n.host && sync new
      [ \$((n % 10)) -ne 0 ] || { ls new | while read -r name; do mv new/\$name cur/\$name:2,S; done; cat cur/* >/dev/null; }
    done
    for n in \$(seq 1 3 100); do mv cur/\$n.host:2,S cur/\$n.host:2,ST; done; rm cur/*T; sync cur"
}

# Transactions of a database in one file, with a journal that is removed and with one that is written ahead.
trace_sqlite() {
  mkdir "$work/sqlite"
  for mode in delete wal; do
    awk -v mode="$mode" 'BEGIN {
      print "PRAGMA journal_mode=" mode "; CREATE TABLE t(id INTEGER PRIMARY KEY, who TEXT, amount INT);"
      print "CREATE INDEX i ON t(who);"
      for (n = 1; n <= 150; n++) {
        print "BEGIN;"
        for (k = 0; k < 5; k++) print "INSERT INTO t(who, amount) VALUES(\x27" (n * 7919 + k * 104729) % 1000003 "\x27, " n ");"
        print "UPDATE t SET amount = amount + 1 WHERE id = " (n * 31) % (n * 5) + 1 ";"
        print "SELECT sum(amount) FROM t WHERE who < \x27" n "\x27;"
        print "COMMIT;"
      }
      print "DELETE FROM t WHERE id % 3 = 0; VACUUM;" }' >"$work/$mode.sql"
  done
  record sqlite "$work/sqlite" sh -c "sqlite3 delete.db <$work/delete.sql && sqlite3 wal.db <$work/wal.sql"
}

# Four clients of a database server, each with transactions of its own.
trace_postgresql() {
  local bin top=$work/postgresql
  bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
  mkdir "$top" && touch "$work/postgresql.server"
  chown postgres "$top" "$work/postgresql.server"
  local as=(runuser -u postgres -- env "PATH=$bin:$PATH" "PGHOST=$top/data")
  (
    cd "$top"
    "${as[@]}" initdb -D data --wal-segsize=1 --no-sync --no-locale -A trust
    printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$top/data'" 'shared_buffers = 4MB' \
      'max_wal_size = 4MB' 'min_wal_size = 2MB' 'autovacuum = off' 'fsync = on' >>data/postgresql.conf
    "${as[@]}" pg_ctl -D data -w -s -l "$work/postgresql.server" start
    "${as[@]}" createdb pgbench
    "${as[@]}" pgbench -q -i --init-steps=dtGp pgbench
    "${as[@]}" pg_ctl -D data -w -s stop
  ) >"$work/postgresql.log" 2>&1 || { cat "$work/postgresql.log" >&2; exit 1; }
  record postgresql "$top" "${as[@]}" sh -c "pg_ctl -D data -w -s -l $work/postgresql.server start &&
    pgbench -n -c 4 -t 50 pgbench && pg_ctl -D data -w -s stop"
}

# Packages are unpacked, unpacked again as if upgraded, and removed.
trace_packages() {
  local root=$work/packages
  mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$work/debs"
  touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"
  chmod 777 "$work/debs"
  (cd "$work/debs" && apt-get -q download hello tree pv cowsay >"$work/packages.log" 2>&1)
  local dpkg="dpkg --root=$root --log=/dev/null --force-depends"
  record packages "$root" sh -c "$dpkg --unpack $work/debs/*.deb && $dpkg --unpack $work/debs/*.deb &&
    $dpkg --purge hello tree pv cowsay"
}

# The layers of a container's image are unpacked on each other; names that begin with .wh. remove others.
trace_image() {
  local layers=$work/layers
  mkdir -p "$layers/1" "$layers/2" "$layers/3" "$work/image"
  for n in $(seq 300); do
    mkdir -p "$layers/1/usr/lib/d$((n % 20))"
    data "$layers/1/usr/lib/d$((n % 20))/f$n" $(((n * 7919) % 30000)) "$n"
    [ $((n % 10)) -ne 0 ] || ln -s "f$n" "$layers/1/usr/lib/d$((n % 20))/l$n"
  done
  mkdir -p "$layers/2/usr/lib/d1" "$layers/2/usr/lib/d2" "$layers/2/app" "$layers/3/app"
  touch "$layers/2/usr/lib/.wh.d3" "$layers/2/usr/lib/d1/.wh.f1" "$layers/2/usr/lib/d1/.wh.f21" "$layers/3/app/.wh.a9"
  for n in $(seq 80); do data "$layers/2/app/a$n" $((n * 100)) "a$n"; done
  data "$layers/2/usr/lib/d2/f2" 5000 new
  for n in $(seq 1 40); do data "$layers/3/app/a$n" $((n * 90)) "b$n"; done
  for n in 1 2 3; do tar -C "$layers/$n" --owner=0 --group=0 --sort=name -czf "$layers/$n.tar.gz" .; done
  record image "$work/image" sh -c "for n in 1 2 3; do
      tar xzf $layers/\$n.tar.gz
      find . -name '.wh.*' | while read -r name; do rm -rf \"\${name%/*}/\${name##*/.wh.}\" \"\$name\"; done
    done"
}

# Backups of a directory that share the files that did not change; the oldest goes.
trace_backup() {
  local top=$work/backup
  mkdir -p "$top/source"
  for n in $(seq 160); do
    mkdir -p "$top/source/d$((n % 15))"
    data "$top/source/d$((n % 15))/f$n" $(((n * 104729) % 40000)) "$n"
  done
  record backup "$top" sh -c 'rsync -a source/ b0/
    for round in 1 2 3; do
      for n in $(seq $round 9 160); do echo $round >>source/d$((n % 15))/f$n; done
      rm -f source/d$round/f1*
      rsync -a --delete --link-dest=../b$((round - 1)) source/ b$round/
    done
    rm -r b0 b1'
}

# Photographs are copied from a card, checked, sorted by day, and each gets a small picture.
trace_photos() {
  mkdir -p "$work/card" "$work/photos"
  for n in $(seq 100 159); do
    data "$work/card/IMG_$n.JPG" $((150000 + (n * 7919) % 200000)) "$n"
    touch -d "2024-05-$((1 + (n - 100) / 6)) 12:$((n % 60))" "$work/card/IMG_$n.JPG"
  done
  record photos "$work/photos" sh -c "mkdir import && cp -p $work/card/* import/ && sync import
    for photo in import/*; do
      cmp \$photo $work/card/\${photo#import/} || exit 1
      day=\$(date -r \$photo +%Y/%m/%d)
      mkdir -p \$day .thumbnails
      dd if=\$photo of=.thumbnails/\${photo#import/} bs=4096 count=2 2>/dev/null
      mv \$photo \$day/\$(date -r \$photo +%H%M)_\${photo#import/}
    done
    rmdir import; find . -name '*.JPG' -size +20k | wc -l"
}

for name in "$@"; do
  echo "recording $name" >&2
  "trace_$name"
  chmod -R u+w "$work/$name" 2>/dev/null || true
  rm -rf "${work:?}/$name"
done
