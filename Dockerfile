# The static program, and nothing else. From the folder that the release tar unpacks to, or from
# anywhere with a static airdock beside this file:
#   docker build -t airdock .
# An image without a shell: Kubernetes starts and probes it by its own commands.
FROM scratch
COPY airdock /usr/bin/airdock
ENTRYPOINT ["/usr/bin/airdock"]
CMD ["watch"]
