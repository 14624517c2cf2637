#!/bin/sh
# Builds a container image with Holon's own agent as its entry point, from nothing: no base image, no registry.
#
#     build.sh HOLON NAME [PODMAN-OPTION…]
#
# HOLON is the binary, NAME what the image shall be called. In it are the binary, the libraries it is linked with, the
# certificates of this machine, and a shell with small tools (busybox, if it is installed as one static file).
set -eu
[ $# -ge 2 ] || { echo "usage: build.sh HOLON NAME [PODMAN-OPTION...]" >&2; exit 64; }
holon=$1 name=$2
shift 2

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/bin" "$root/tmp" "$root/proc" "$root/dev" "$root/sys" "$root/etc"
chmod 755 "$root"
chmod 1777 "$root/tmp"
cp "$holon" "$root/bin/holon"
strip "$root/bin/holon" 2> /dev/null || true

# `ldd` names each library by its path; one without a path is the kernel's.
ldd "$holon" 2> /dev/null | grep -o '/[^ ]*' | while read -r library; do
  mkdir -p "$root$(dirname "$library")"
  cp -L "$library" "$root$library"
done

if busybox=$(command -v busybox) && ! ldd "$busybox" > /dev/null 2>&1; then
  cp "$busybox" "$root/bin/busybox"
  for tool in $("$busybox" --list); do
    [ "$tool" = busybox ] || ln -sf busybox "$root/bin/$tool"
  done
else
  echo "build.sh: no static busybox here, so the agent can read and write but run nothing" >&2
fi
if [ -f /etc/ssl/certs/ca-certificates.crt ]; then
  mkdir -p "$root/etc/ssl/certs"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
fi
echo 'root:x:0:0::/tmp:/bin/sh' > "$root/etc/passwd"

# `import` makes an image of a tree without any base; a Containerfile would say: FROM scratch, COPY root/ /, and the same.
tar --owner=0 --group=0 -C "$root" -cf - . | podman "$@" import \
  --change 'ENTRYPOINT ["/bin/holon", "adapter"]' --change 'ENV PATH=/bin' - "$name"
