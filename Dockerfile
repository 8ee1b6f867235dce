# The image of unroof: one program on Debian, for a user without rights and a root filesystem that is only read.
#
#   docker build -t unroof .
#   docker run --rm --read-only --cap-drop ALL -p 127.0.0.1:8080:8080 -v unroof:/data -e UNROOF_ANONYMOUS=read unroof
#
# Callers without a key may read then. The first start writes an admin key into /data/admin.key.
#
# scripts/test-image builds it and tries it. The bases are named by tags, which move on with their security updates.
# For reproducible builds, name their digests:
#
#   docker build --build-arg RUST_IMAGE=rust:1.95-bookworm@sha256:… \
#       --build-arg DEBIAN_IMAGE=debian:bookworm-slim@sha256:… -t unroof .
ARG RUST_IMAGE=rust:1.95-bookworm
ARG DEBIAN_IMAGE=debian:bookworm-slim

FROM ${RUST_IMAGE} AS build
WORKDIR /src
# Only what the program is compiled from, and the benches, without which cargo refuses Cargo.toml. rust-toolchain.toml
# stays out: it names the channel, and rustup would fetch that instead of taking the version that the base image holds.
COPY Cargo.toml Cargo.lock build.rs ./
COPY .cargo .cargo
COPY benches benches
COPY crates crates
COPY examples examples
COPY migrations migrations
COPY openapi openapi
COPY src src
# The caches outlive the build, so that a change to the sources compiles no dependency again. They may be younger than
# sources that were checked out elsewhere, which cargo would take for built: hence `touch`.
RUN --mount=type=cache,id=unroof-registry,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,id=unroof-target,target=/src/target,sharing=locked \
    touch build.rs src/main.rs crates/*/build.rs crates/*/src/lib.rs \
    && cargo build --release --locked --bin unroof \
    && cp target/release/unroof /unroof

FROM ${DEBIAN_IMAGE}
LABEL org.opencontainers.image.title="unroof" \
      org.opencontainers.image.description="What an LLM provider's public prices say about the machine behind them" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
# A volume that is made from this folder takes over its owner.
RUN install --directory --owner=10001 --group=10001 --mode=0700 /data
COPY --from=build /unroof /usr/local/bin/unroof
# By number, since it has to own nothing but /data, and Kubernetes sees from a number that it is not root.
USER 10001:10001
ENV UNROOF_DATABASE_URL=sqlite:/data/unroof.db \
    UNROOF_ADMIN_KEY_FILE=/data/admin.key
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 CMD ["unroof", "healthcheck"]
# No shell and no init before it: the program itself answers SIGTERM.
ENTRYPOINT ["unroof"]
CMD ["serve", "--listen", "0.0.0.0:8080"]
