# docker build --tag farm . && docker run --rm farm
FROM rust:1.95-slim-trixie AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked

# The same Debian, so that the binary finds the libc that it was built with.
FROM debian:trixie-slim
RUN useradd --create-home farm
COPY --from=build /src/target/release/farm /usr/local/bin/farm
USER farm
WORKDIR /home/farm
CMD ["farm", "demo"]
