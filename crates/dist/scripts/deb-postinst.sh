#!/bin/sh
# Not started by itself: nothing happens on a node that nobody asked for.
set -e
if [ "$1" = configure ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    # After an upgrade, where it was running.
    [ -z "$2" ] || systemctl try-restart airdock.service
fi
