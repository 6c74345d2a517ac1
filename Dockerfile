# fedradio on the CPU, with pinned versions. From the folder of the repository:
#   docker build -t fedradio .
#   docker run --rm -v "$PWD/out:/work" fedradio run demo
# Extras: docker build --build-arg EXTRAS=[pandas,gym] -t fedradio .
# A smaller image: --build-arg PIP_EXTRA_INDEX_URL=... with a package index that has torch built for the CPU alone.
FROM python:3.11-slim

ARG EXTRAS=
ARG PIP_EXTRA_INDEX_URL=
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN python -m pip install -c constraints.txt ".${EXTRAS}" \
    && useradd --create-home --uid 1000 researcher \
    && install -d -o researcher /work

USER researcher
WORKDIR /work
ENV FEDRADIO_HOME=/work/.fedradio
ENTRYPOINT ["fedradio"]
CMD ["--help"]
