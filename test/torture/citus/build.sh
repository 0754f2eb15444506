#!/bin/sh
# Builds the Citus extension from sources of release 12.1 for PostgreSQL 15, and installs it there.
# Needs Debian's packages postgresql-server-dev-15 libcurl4-openssl-dev liblz4-dev libzstd-dev libkrb5-dev gcc make,
# and installs none of them.
#
#   test/torture/citus/build.sh SOURCES [PG_CONFIG]
set -eu
sources=${1:?usage: build.sh SOURCES [PG_CONFIG]}
pg_config=${2:-/usr/lib/postgresql/15/bin/pg_config}
[ -x "$sources/configure" ] || { echo "$sources has no sources of Citus" >&2; exit 1; }
[ -x "$pg_config" ] || { echo "$pg_config is not there: postgresql-server-dev-15 has it" >&2; exit 1; }
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
# Keeps file times, since a `configure` older than its sources would be generated again.
cp -pR "$sources/." "$build"
cd "$build"
./configure PG_CONFIG="$pg_config"
make -j2
make install
