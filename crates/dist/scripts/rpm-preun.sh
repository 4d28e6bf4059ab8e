# 0: the last version goes; 1: an upgrade.
[ "$1" -eq 0 ] && [ -d /run/systemd/system ] && systemctl disable --now airdock.service || :
