# Proctor's server: web and worker are the same image with another command.
FROM node:20-slim AS page
WORKDIR /page
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY frontend/ ./
RUN npm run build

FROM python:3.11-slim
WORKDIR /proctor
ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PROCTOR_DATA=/data PROCTOR_HOST=0.0.0.0
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY platform/ platform/
COPY tasksets/ tasksets/
COPY runs/ runs/
COPY manage.py ./
RUN pip install -c requirements.lock -e '.[server,parquet]'
COPY --from=page /page/dist frontend/dist
VOLUME /data
EXPOSE 8000
CMD ["python", "manage.py", "web"]
