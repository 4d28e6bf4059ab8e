if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || :
    [ "$1" -ge 1 ] && systemctl try-restart airdock.service || :
fi
