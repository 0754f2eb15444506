# An image of this checkout: the tarball of `npm pack`, the packages of the lockfile, and Node; no shell, no npm, no
# embedded PostgreSQL (DATABASE_URL is required). How to run it: docs/deploying.md.

FROM node:26.10.0-trixie AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm pack --pack-destination /tmp && mkdir /app && tar -xzf /tmp/model-gateway-*.tgz -C /app --strip-components=1
# Debug symbols are a fifth of the binary.
RUN strip /usr/local/bin/node && mkdir /node /data && cp /usr/local/bin/node /usr/lib/*-linux-gnu/libatomic.so.1 /node/

FROM node:26.10.0-trixie AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Type declarations and source maps are half of the installed files, and nothing reads them at run time.
RUN npm ci --omit=dev --omit=optional --ignore-scripts \
  && find node_modules -type f -regex '.*\.\([cm]?ts\|map\)' -delete

FROM gcr.io/distroless/cc-debian13:nonroot
COPY --from=build /node/node /usr/local/bin/node
COPY --from=build /node/libatomic.so.1 /usr/lib/
COPY --from=packages /app/node_modules /app/node_modules
COPY --from=build /app /app
# The journal needs a durable disk: mount a volume here.
COPY --from=build --chown=65532:65532 /data /var/lib/model-gateway
ENV GATEWAY_BIND=0.0.0.0:8080 \
  GATEWAY_CONFIG=/etc/model-gateway/gateway.yaml \
  GATEWAY_DATA_DIR=/var/lib/model-gateway \
  NODE_ENV=production
USER 65532:65532
WORKDIR /app
VOLUME /var/lib/model-gateway
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["/usr/local/bin/node", "-e", "fetch(`http://127.0.0.1:${process.env.GATEWAY_BIND.split(':').at(-1)}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/usr/local/bin/node", "/app/interfaces/cli/gateway.mjs"]
CMD ["serve"]
