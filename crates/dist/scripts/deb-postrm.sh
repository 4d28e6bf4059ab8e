#!/bin/sh
# What the agent remembers goes with its settings; bundles are the operator's.
set -e
if [ "$1" = purge ]; then
    rm -rf "$DPKG_ROOT/var/lib/airdock/ledger"
    rm -f "$DPKG_ROOT/var/lib/airdock/lock" "$DPKG_ROOT/var/lib/airdock/running"
fi
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
