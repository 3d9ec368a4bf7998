/** Creates the HTTP server itself, before anything is registered: its parser, its limits and the ids of its requests. */
import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { ServerConfig } from '../config/config.ts';
import { withoutBasePath } from './base-path.ts';
import { createClientErrorHandler } from './client-error-handler.ts';
import { createOriginMatcher } from './cors.ts';
import { createInvalidUrlHandler } from './errors.ts';
import { isWebSocketUpgrade, MAX_REQUEST_HEAD_BYTES, trustedProxies } from './security-headers-and-limits.ts';

/**
 * The parser accepts larger heads than the server, so that the server can reject them as requests with a known origin.
 * It is less than Node reads at once (64 KiB), so that the beginning of a head that the parser rejects is known, too.
 */
const PARSED_HEAD_BYTES = 3 * MAX_REQUEST_HEAD_BYTES;
/** Ids have up to 128 characters, and each may be percent-encoded as three. */
const MAX_PARAMETER_LENGTH = 512;

/** The server does not listen yet, and has no routes. */
export function createHttpServer(config: ServerConfig, log: FastifyBaseLogger): FastifyInstance {
  const nextId = requestIds();
  const allows = createOriginMatcher(config);
  return Fastify<Server>({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    // Each log line has the request id, so no logger has to be created for each request.
    childLoggerFactory: (logger) => logger,
    genReqId: nextId,
    trustProxy: trustedProxies(config.trustProxy),
    bodyLimit: config.bodyBytes,
    keepAliveTimeout: config.idleTimeoutMs,
    requestTimeout: 0,
    return503OnClosing: false,
    ...(config.basePath !== '' && { rewriteUrl: ({ url = '/' }) => withoutBasePath(url, config.basePath) }),
    http: {
      maxHeaderSize: PARSED_HEAD_BYTES,
      requireHostHeader: false,
      headersTimeout: config.headerTimeoutMs,
      connectionsCheckingInterval: 1_000,
      // Node passes on an upgrade without its body, so only requests for a WebSocket may be upgrades.
      shouldUpgradeCallback: ({ headers }) => isWebSocketUpgrade(headers),
    },
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allErrors: false } },
    clientErrorHandler: createClientErrorHandler(nextId, allows),
    frameworkErrors: createInvalidUrlHandler(allows),
  });
}

/** `req_` and a number, unique across processes and cheap within one. */
function requestIds(): () => string {
  const prefix = `req_${randomBytes(8).toString('base64url')}`;
  let count = 0;
  return () => `${prefix}${(++count).toString(36)}`;
}
