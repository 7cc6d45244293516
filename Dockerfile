# The command `stax` with plots, reports and films, on a CPU build of PyTorch:
#   docker build -t stax .
#   docker run --rm -v "$PWD/runs:/work/runs" stax run hard-maze --out runs/first
FROM python:3.12-slim
COPY pyproject.toml README.md LICENSE constraints.txt /src/
COPY src /src/src
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu -c /src/constraints.txt "/src[report,video]"
WORKDIR /work
ENTRYPOINT ["stax"]
