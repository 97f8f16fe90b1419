# The manager, from source: docker build -t REGISTRY/coapply-manager:TAG .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags '-s -w' -o /manager ./cmd/manager

# No shell, no package manager, no root.
FROM gcr.io/distroless/static:nonroot
COPY --from=build /manager /manager
COPY LICENSE NOTICE /
USER 65532:65532
ENTRYPOINT ["/manager"]
