#!/bin/sh
# Builds a release into dist/: archives of kubectl-fieldowners and ownlint for each platform, the krew manifest,
# install.yaml and checksums. With IMG it also builds and pushes the manager's image and its SBOM. The same commit gives
# the same bytes: files are archived in order, with the commit's time and without names of users.
# Run by `make release`, with VERSION, URL, and perhaps IMG and PLATFORMS. Needs GNU tar.
set -eu

fail() {
	echo "release: $*" >&2
	exit 1
}

[ -n "${VERSION:-}" ] && [ -n "${URL:-}" ] ||
	fail 'VERSION and URL are missing: make release VERSION=v0.1.0 URL=https://HOST/FOLDER-OF-THE-ARCHIVES'
echo "$VERSION" | grep -Eq '^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$' ||
	fail "VERSION=$VERSION is not a semantic version such as v0.1.0"
echo "$URL" | grep -Eq '^https?://[0-9A-Za-z._~/%:-]+$' || fail "URL=$URL is not an http URL without a query"
[ -z "$(git status --porcelain)" ] || fail 'the checkout has uncommitted changes: commit them first'
# go build takes the versions of the two modules from these tags.
for tag in "$VERSION" "cmd/ownlint/$VERSION"; do
	[ "$(git rev-parse -q --verify "refs/tags/$tag^{commit}")" = "$(git rev-parse HEAD)" ] ||
		fail "the tag $tag does not name this commit: git tag $VERSION && git tag cmd/ownlint/$VERSION"
done
IMG=${IMG:-}
case ${IMG##*/} in
*:*) fail "IMG=$IMG has a tag: give the repository alone, the tag is $VERSION" ;;
esac
tar --version 2>/dev/null | grep -q GNU || fail 'this needs GNU tar (on macOS: brew install gnu-tar, and put it on the PATH as tar)'

time=$(git log -1 --format=%ct)
rm -rf dist
mkdir -p dist
sed -e '/^#/d' -e "s|VERSION|$VERSION|" -e "s|HOMEPAGE|$URL|" cmd/kubectl-fieldowners/krew.yaml >dist/fieldowners.yaml

# archive NAME FOLDER-OF-THE-PACKAGE OTHER-FILES... builds and archives one program for each platform.
archive() {
	name=$1 package=$2
	shift 2
	for platform in ${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64}; do
		os=${platform%/*} arch=${platform#*/} folder=dist/tree exe=
		[ "$os" != windows ] || exe=.exe
		file=${name}_${VERSION}_${os}_$arch.tar.gz
		echo "building $file"
		mkdir "$folder"
		(cd "$package" && CGO_ENABLED=0 GOOS=$os GOARCH=$arch GOFLAGS= \
			go build -trimpath -buildvcs=true -ldflags='-s -w' -o "$OLDPWD/$folder/$name$exe" .)
		cp LICENSE NOTICE "$@" "$folder/"
		tar -C "$folder" --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' -cf dist/tar .
		gzip -nc dist/tar >"dist/$file"
		rm -r "$folder" dist/tar
		[ "$name" = kubectl-fieldowners ] || continue
		sum=$(sha256sum "dist/$file")
		printf '  - selector:\n      matchLabels: {os: %s, arch: %s}\n    uri: %s/%s\n    sha256: %s\n    bin: %s%s\n' \
			"$os" "$arch" "$URL" "$file" "${sum%% *}" "$name" "$exe" >>dist/fieldowners.yaml
	done
}

archive kubectl-fieldowners ./cmd/kubectl-fieldowners cmd/kubectl-fieldowners/kubectl_complete-fieldowners
archive ownlint ./cmd/ownlint
make --no-print-directory build-installer VERSION="$VERSION" IMG="${IMG:-coapply-manager}:$VERSION"
if [ -n "${IMG:-}" ]; then
	# ko names the image without a Dockerfile, for the platforms of .ko.yaml, and pushes an SBOM (SPDX) beside it.
	export KO_DOCKER_REPO="$IMG" SOURCE_DATE_EPOCH="$time"
	(cd tools/ko && CGO_ENABLED=0 go build -o ../../bin/ tool)
	GOFLAGS=-buildvcs=true bin/ko build --bare --tags "$VERSION" --image-refs dist/image.txt ./cmd/manager
fi
(cd dist && sha256sum -- * >checksums.txt)
echo "wrote $(find dist -type f | wc -l) files to dist; publish the archives under $URL"
