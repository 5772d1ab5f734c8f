# The server in an image of its own, which has the binary and nothing else. It needs no base image:
#
#     make image-root          # bin/image: the static binary, and the certificates of the authorities of this machine
#     docker build -t rookery .
#
# docs/guide/hosting.md has the command that runs it. Elsewhere than on loopback, and so in a container, it needs a
# certificate or a proxy, and somebody who may log in.
FROM scratch
COPY bin/image/ /
USER 65532:65532
VOLUME /data
EXPOSE 7780
ENV ROOKERY_DATA=/data/rookery ROOKERY_LISTEN=0.0.0.0:7780 TMPDIR=/data
ENTRYPOINT ["/rookery"]
CMD ["serve"]
