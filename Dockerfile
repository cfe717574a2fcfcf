# SPDX-License-Identifier: Apache-2.0
# An image that runs Loomix: docker build -t loomix . && docker run -it loomix python3
# The first stage has compilers and makes the wheel; the second has Python and the wheel, and none of the first's packages.
FROM debian:bookworm-slim AS builder
RUN apt-get update -q && apt-get install -y -q --no-install-recommends bash ca-certificates git
COPY . /project
WORKDIR /project
RUN bash tools/make_wheel.sh

FROM debian:bookworm-slim
RUN apt-get update -q && apt-get install -y -q --no-install-recommends python3 python3-venv && rm -rf /var/lib/apt/lists/*
COPY --from=builder /project/dist /wheels
RUN python3 -m venv /opt/loomix && /opt/loomix/bin/pip install -q /wheels/*.whl && rm -r /wheels
ENV PATH=/opt/loomix/bin:$PATH
RUN python3 -c "import loomix as mx; assert mx.nd.ones((2, 3)).sum().asscalar() == 6"
CMD ["python3"]
