# SPDX-License-Identifier: Apache-2.0
# Weft with LibTorch for a CPU: docker build -t weft . && docker run --rm -v "$PWD:/work" weft train --help
FROM debian:12-slim AS build
# Debian 12 keeps one version of a package, and takes it away with each security update: none is named here.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates git make python3 \
    && rm -rf /var/lib/apt/lists/*
COPY . /source
WORKDIR /source
RUN make build && cmake --install build/release --prefix /opt/weft --strip \
    && .venv/bin/python3 -m pip install --no-cache-dir --no-deps --target /opt/weft/lib/libtorch -r scripts/requirements-libtorch.txt

FROM debian:12-slim
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates libcairo2 libcurl4 libgomp1 libpng16-16 libsqlite3-0 zlib1g && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/weft /opt/weft
ENV PATH=/opt/weft/bin:$PATH
WORKDIR /work
# nobody, by the number that every host knows.
USER 65534:65534
ENTRYPOINT ["weft"]
