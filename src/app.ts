/**
 * Registers every context of the HTTP server, in order. The context of a route decides whether it needs a credential,
 * never a test of its URL: routes under `api` are authenticated, routes under `open` are not.
 */
import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify';
import type { Logger } from 'pino';
import { keyRoutes } from './auth/http/api-key-routes.ts';
import { identityRoutes } from './auth/http/identity-routes.ts';
import { linkRoutes } from './auth/http/magic-link-routes.ts';
import { ManagedKeys } from './auth/http/managed-keys.ts';
import { ManagedUsers } from './auth/http/managed-users.ts';
import { factorLoginRoutes } from './auth/http/mfa-login-routes.ts';
import { factorRoutes } from './auth/http/mfa-routes.ts';
import { flowRoutes } from './auth/http/oauth-routes.ts';
import { passkeyLoginRoutes } from './auth/http/passkey-login-routes.ts';
import { passkeyRoutes } from './auth/http/passkey-routes.ts';
import { providerRoutes } from './auth/http/provider-routes.ts';
import { settingsRoutes } from './auth/http/settings-routes.ts';
import { pageRoutes } from './auth/http/sign-in-page-routes.ts';
import { signInRoutes } from './auth/http/sign-in-routes.ts';
import { userRoutes } from './auth/http/user-admin-routes.ts';
import { accountRoutes } from './auth/http/user-routes.ts';
import { RequestRate } from './auth/request-rate.ts';
import { VERSION } from './cli-text.ts';
import { collectionAdminRoutes } from './collections/http/collection-routes.ts';
import { indexRoutes } from './collections/http/index-routes.ts';
import { readRoutes } from './collections/http/read-routes.ts';
import { writeRoutes } from './collections/http/write-routes.ts';
import { CollectionSchemas } from './collections/schema/described.ts';
import { CollectionList } from './collections/schema/seen-collections.ts';
import type { ServerConfig } from './config/config.ts';
import { dashboardRoutes } from './dashboard/page-routes.ts';
import { sessionRoutes } from './dashboard/session-routes.ts';
import { emailRoutes } from './email/http/email-routes.ts';
import { auditRoutes } from './events/http/audit-routes.ts';
import { eventRoutes } from './events/http/event-routes.ts';
import { fileRoutes } from './files/routes.ts';
import { signRoutes } from './files/sign-routes.ts';
import { authorTypeRoutes } from './functions/http/author-type-routes.ts';
import { callRoutes, takesOwnAuthorization } from './functions/http/call-routes.ts';
import { tryRoutes } from './functions/http/dry-run-routes.ts';
import { MAX_CALL_BYTES } from './functions/http/endpoint-request.ts';
import { jobRoutes } from './functions/http/job-routes.ts';
import { pluginRoutes } from './functions/http/plugin-routes.ts';
import { runRoutes } from './functions/http/run-routes.ts';
import { anonymous, authentication } from './http/access/authentication.ts';
import { BadCredentials } from './http/access/bad-credentials.ts';
import { explain } from './http/access/explain.ts';
import { impersonatedOthers, onlyReadsAs } from './http/access/impersonation.ts';
import { rateLimit } from './http/access/rate-limit.ts';
import { readOnlyKeys } from './http/access/read-only-keys.ts';
import { adminMfa } from './http/access/require-admin-mfa.ts';
import { streamTickets } from './http/access/stream-tickets.ts';
import { basePathOfResponses, withoutBasePath } from './http/base-path.ts';
import { callBodies } from './http/bodies/call-bodies.ts';
import { form } from './http/bodies/form.ts';
import { json } from './http/bodies/json.ts';
import { cacheHeaders } from './http/cache-headers.ts';
import { allowedOrigins, cors } from './http/cors.ts';
import { developmentGuard } from './http/development-guard.ts';
import { docsRoutes } from './http/docs/docs-routes.ts';
import { draining } from './http/draining.ts';
import { errors, refuseAddress } from './http/errors.ts';
import { exampleRoutes } from './http/example-routes.ts';
import { healthRoutes } from './http/health.ts';
import { methods } from './http/method-not-allowed.ts';
import { declaredRoutes } from './http/openapi/declared-routes.ts';
import { OpenApiDocuments, openApiRoutes } from './http/openapi/documented-routes.ts';
import type { DeclaredRoute } from './http/openapi/openapi.ts';
import { boundedHead, MAX_HEAD_BYTES, protection, requestsForSocket, trustedProxies } from './http/protection.ts';
import { publicHost } from './http/public-host.ts';
import { refuseConnection } from './http/refused-heads.ts';
import { requestLog } from './http/request-log.ts';
import { effectiveSettingsRoutes } from './http/settings/settings-routes.ts';
import { adminRoutes } from './http/status-routes.ts';
import { policyRoutes } from './policies/http/policy-routes.ts';
import { draftRoutes } from './policies/http/preview-routes.ts';
import { realtimeRoutes } from './realtime/routes.ts';
import { listStream } from './realtime/stream-route.ts';
import type { Services } from './services.ts';
import { deliveryRoutes } from './webhooks/http/delivery-routes.ts';
import { collectionRoutes } from './webhooks/http/discovery-routes.ts';
import { endpointRoutes } from './webhooks/http/endpoint-routes.ts';
import { hookRoutes } from './webhooks/http/hook-routes.ts';

const PLUGIN_BODY_BYTES = 3 * 1_048_576;
/**
 * The parser accepts larger heads than the server, so that the server can reject them as requests with a known origin.
 * It is less than Node reads at once (64 KiB), so that the beginning of a head that the parser rejects is known, too.
 */
const PARSED_HEAD_BYTES = 3 * MAX_HEAD_BYTES;
/** Ids have up to 128 characters, and each may be percent-encoded as three. */
const MAX_PARAMETER_LENGTH = 512;

/** Builds the HTTP server around the services; it does not listen yet. */
export async function buildApp(services: Services, log: Logger): Promise<FastifyInstance> {
  const config = services.config.server;
  const app = createServer(config, log);
  const routes: DeclaredRoute[] = [];

  app.decorate('basePath', config.basePath);
  await app.register(draining);
  await app.register(protection, { config });
  await app.register(cors, { config });
  await app.register(boundedHead);
  await app.register(requestLog, { config, log });
  await app.register(errors);
  await app.register(basePathOfResponses);
  await app.register(publicHost, { config });
  await app.register(methods);
  await app.register(declaredRoutes, { routes });
  await app.register(developmentGuard, { config });
  await app.register(onlyReadsAs);

  await app.register(async function open(context) {
    const details = async () => ({ events: await services.events.inShort() });
    await context.register(healthRoutes, {
      ...services,
      ...(services.config.mode === 'development' ? { details } : {}),
    });
    await context.register(pageRoutes, services);
    if (services.config.mode === 'development') await context.register(exampleRoutes);
  });

  await app.register(async function docs(context) {
    await context.register(anonymous);
    await context.register(rateLimit, { requestRate: new RequestRate(config.rate) });
    await context.register(docsRoutes);
  });

  await app.register(async function dashboard(context) {
    await context.register(dashboardRoutes);
    await context.register(async function sessions(context) {
      await context.register(anonymous);
      await context.register(rateLimit, { requestRate: new RequestRate(config.rate) });
      await context.register(json, { config });
      await context.register(sessionRoutes, {
        ...services.byProviders,
        ...services.auth,
        ...services,
        config,
        version: VERSION,
      });
    });
  });

  await app.register(async function signIn(context) {
    await context.register(anonymous);
    await context.register(rateLimit, { requestRate: new RequestRate(config.rate) });
    await context.register(async function credentials(context) {
      await context.register(json, { config });
      await context.register(factorLoginRoutes, services.auth);
      await context.register(passkeyLoginRoutes, services.auth);
      const { base } = services.config.auth;
      await context.register(linkRoutes, { ...services, ...services.auth, ...config, base });
      await context.register(signInRoutes, { ...services.byProviders, ...services.auth, publicUrl: config.publicUrl });
    });
    await context.register(async function providers(context) {
      await context.register(form, { config });
      await context.register(flowRoutes, { ...services.byProviders, publicUrl: config.publicUrl });
    });
  });

  await app.register(async function api(context) {
    const badCredentials = new BadCredentials(config.rate.anonymous);
    const isForeign = (request: FastifyRequest) => takesOwnAuthorization(services.functions.endpoints, request);
    await context.register(authentication, { ...services.auth, badCredentials, isForeign });
    await context.register(streamTickets, { ...services.auth, badCredentials });
    await context.register(adminMfa);
    await context.register(readOnlyKeys);
    await context.register(rateLimit, services);
    await context.register(impersonatedOthers, services);
    await context.register(explain, services);
    await context.register(cacheHeaders);
    await context.register(async function documents(context) {
      await context.register(json, { config });
      await context.register(readRoutes, {
        prefix: '/api',
        ...services,
        listBytes: services.config.collections.listBytes,
        position: () => services.events.feed.position,
        live: listStream(services.realtime),
      });
      await context.register(writeRoutes, services);
      await context.register(collectionAdminRoutes, services);
      await context.register(indexRoutes, services);
      await context.register(policyRoutes, services);
      const subscriptions = () => services.realtime.open();
      await context.register(draftRoutes, { ...services, ...services.auth, mode: config.mode, subscriptions });
      await context.register(signRoutes, { ...services, publicUrl: config.publicUrl });
      const position = () => services.events.feed.position;
      await context.register(endpointRoutes, { ...services, ...services.auth, mode: config.mode, position });
      await context.register(deliveryRoutes, { ...services, ...services.auth, mode: config.mode, position });
      await context.register(hookRoutes, { ...services, ...services.auth, mode: config.mode });
      const described = new CollectionSchemas(services);
      await context.register(collectionRoutes, { ...services, described, publicUrl: config.publicUrl });
      await context.register(runRoutes, services);
    });
    await context.register(async function calls(context) {
      await context.register(callBodies, { config, maxBytes: MAX_CALL_BYTES });
      await context.register(callRoutes, { ...services, mode: config.mode });
    });
    await context.register(async function plugins(context) {
      // Scripts of a megabyte are longer as JSON.
      await context.register(json, { config: { ...config, bodyBytes: Math.max(config.bodyBytes, PLUGIN_BODY_BYTES) } });
      await context.register(pluginRoutes, { ...services, ...services.functions.plugins });
      await context.register(jobRoutes, services);
      await context.register(tryRoutes, { ...services, ...services.functions, ...services.functions.plugins });
    });
    await context.register(async function accounts(context) {
      await context.register(json, { config });
      await context.register(accountRoutes, services.auth);
      await context.register(factorRoutes, services.auth);
      await context.register(passkeyRoutes, services.auth);
      await context.register(identityRoutes, {
        ...services.byProviders,
        ...services.auth,
        publicUrl: config.publicUrl,
      });
      await context.register(userRoutes, { ...services, users: new ManagedUsers(services.auth) });
      await context.register(keyRoutes, { ...services, ...services.auth, keys: new ManagedKeys(services.auth) });
      await context.register(providerRoutes, { ...services, base: services.config.auth.base });
      await context.register(settingsRoutes, services);
      await context.register(effectiveSettingsRoutes, {
        policies: services.policies,
        config: services.config,
        server: {
          version: VERSION,
          databaseVersion: services.mongo.version,
          mailWay: services.auth.testEmail.way,
        },
      });
      await context.register(emailRoutes, { ...services, ...services.auth });
      await context.register(auditRoutes, services);
    });
    const onError = (err: unknown, collection: string) =>
      log.error({ err, collection }, 'The schema of a collection cannot be inferred');
    const seen = new CollectionList({ ...services, onError });
    const openApi = new OpenApiDocuments({
      seen,
      routes,
      endpoints: services.functions.reported,
      version: VERSION,
      basePath: config.basePath,
    });
    await context.register(openApiRoutes, { ...services, openApi });
    await context.register(authorTypeRoutes, { ...services, seen });
    await context.register(eventRoutes, { ...services, ...services.auth });
    await context.register(realtimeRoutes, { ...services, config });
    await context.register(adminRoutes, services);
    await context.register(fileRoutes, {
      ...services,
      publicUrl: config.publicUrl,
      listBytes: services.config.collections.listBytes,
      position: () => services.events.feed.position,
    });
  });

  return app;
}

function createServer(config: ServerConfig, log: FastifyBaseLogger): FastifyInstance {
  const nextId = requestIds();
  const allows = allowedOrigins(config);
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
      shouldUpgradeCallback: ({ headers }) => requestsForSocket(headers),
    },
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allErrors: false } },
    clientErrorHandler: refuseConnection(nextId, allows),
    frameworkErrors: refuseAddress(allows),
  });
}

/** `req_` and a number, unique across processes and cheap within one. */
function requestIds(): () => string {
  const prefix = `req_${randomBytes(8).toString('base64url')}`;
  let count = 0;
  return () => `${prefix}${(++count).toString(36)}`;
}
