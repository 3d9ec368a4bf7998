# Millrace as a container: no compiler, no package manager's cache, not root. It keeps nothing on its own disk; MongoDB
# and the store of files are elsewhere (docker-compose.yml).

FROM node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY dashboard/package.json dashboard/package-lock.json dashboard/.npmrc ./dashboard/
RUN npm ci --prefix dashboard --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json tsconfig.browser.json ./
COPY scripts ./scripts
COPY client ./client
COPY examples ./examples
COPY dashboard ./dashboard
COPY src ./src
RUN node scripts/build.mjs \
  && npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
  # Node is in the image already. The other optional packages are the native halves of dependencies.
  && rm -rf node_modules/node-linux-*

FROM node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
ENV NODE_ENV=production \
  HOST=0.0.0.0 \
  PORT=3000 \
  MILLRACE_MODE=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# Commands for those who run it: docker compose exec millrace millrace admin --setup-link
RUN ln -s /app/dist/main.js /usr/local/bin/millrace
# The user node of the image.
USER 1000:1000
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/readyz').then((a) => process.exit(a.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--enable-source-maps", "--max-semi-space-size=16", "dist/main.js"]
