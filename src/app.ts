/**
 * Registers every context of the HTTP server, in order. The context of a route decides whether it needs a credential,
 * never a test of its URL: routes under `api` are authenticated, routes under `open` are not.
 */
import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify';
import type { Logger } from 'pino';
import { apiKeyRoutes } from './auth/http/api-key-routes.ts';
import { currentUserRoutes } from './auth/http/current-user-routes.ts';
import { identityRoutes } from './auth/http/identity-routes.ts';
import { magicLinkRoutes } from './auth/http/magic-link-routes.ts';
import { ManagedApiKeys } from './auth/http/managed-keys.ts';
import { ManagedUsers } from './auth/http/managed-users.ts';
import { factorLoginRoutes } from './auth/http/mfa-login-routes.ts';
import { factorRoutes } from './auth/http/mfa-routes.ts';
import { providerSignInRoutes } from './auth/http/oauth-routes.ts';
import { passkeyLoginRoutes } from './auth/http/passkey-login-routes.ts';
import { passkeyRoutes } from './auth/http/passkey-routes.ts';
import { providerRoutes } from './auth/http/provider-routes.ts';
import { settingsRoutes } from './auth/http/settings-routes.ts';
import { hostedPageRoutes } from './auth/http/sign-in-page-routes.ts';
import { signInRoutes } from './auth/http/sign-in-routes.ts';
import { userRoutes } from './auth/http/user-admin-routes.ts';
import { RequestRateLimiter } from './auth/request-rate.ts';
import { VERSION } from './cli-text.ts';
import { collectionAdminRoutes, collectionIndexRoutes } from './collections/http/collection-routes.ts';
import { readRoutes } from './collections/http/read-routes.ts';
import { writeRoutes } from './collections/http/write-routes.ts';
import { CollectionList } from './collections/schema/collection-list.ts';
import { CollectionSchemas } from './collections/schema/collection-schemas.ts';
import type { ServerConfig } from './config/config.ts';
import { dashboardRoutes } from './dashboard/page-routes.ts';
import { sessionRoutes } from './dashboard/session-routes.ts';
import { emailRoutes } from './email/http/email-routes.ts';
import { auditRoutes } from './events/http/audit-routes.ts';
import { eventRoutes } from './events/http/event-routes.ts';
import { fileRoutes } from './files/routes.ts';
import { signedUrlRoutes } from './files/signed-url-routes.ts';
import { callRoutes, usesCustomAuthorization } from './functions/http/call-routes.ts';
import { dryRunRoutes } from './functions/http/dry-run-routes.ts';
import { MAX_REQUEST_BODY_BYTES } from './functions/http/endpoint-request.ts';
import { jobRoutes } from './functions/http/job-routes.ts';
import { pluginRoutes } from './functions/http/plugin-routes.ts';
import { runRoutes } from './functions/http/run-routes.ts';
import { typingsRoutes } from './functions/http/typings-routes.ts';
import { anonymousAccess, authentication } from './http/access/authentication.ts';
import { BadCredentialThrottle } from './http/access/bad-credential-throttle.ts';
import { explainPolicies } from './http/access/explain-policies.ts';
import { impersonationHeader, rejectImpersonatedWrites } from './http/access/impersonation.ts';
import { rateLimit } from './http/access/rate-limit.ts';
import { readOnlyKeys } from './http/access/read-only-keys.ts';
import { requireAdminMfa } from './http/access/require-admin-mfa.ts';
import { streamTickets } from './http/access/stream-tickets.ts';
import { responseBasePath, withoutBasePath } from './http/base-path.ts';
import { formBodies } from './http/bodies/form-bodies.ts';
import { functionCallBodies } from './http/bodies/function-call-bodies.ts';
import { jsonBodies } from './http/bodies/json-bodies.ts';
import { cacheHeaders } from './http/cache-headers.ts';
import { createClientErrorHandler } from './http/client-error-handler.ts';
import { cors, createOriginMatcher } from './http/cors.ts';
import { developmentGuard } from './http/development-guard.ts';
import { docsRoutes } from './http/docs/docs-routes.ts';
import { drainConnections } from './http/draining.ts';
import { createInvalidUrlHandler, errorHandling } from './http/errors.ts';
import { exampleRoutes } from './http/example-routes.ts';
import { healthRoutes } from './http/health.ts';
import { methodNotAllowed } from './http/method-not-allowed.ts';
import { declaredRoutes } from './http/openapi/declared-routes.ts';
import { OpenApiDocuments, openApiRoutes } from './http/openapi/documented-routes.ts';
import type { DeclaredRoute } from './http/openapi/openapi.ts';
import { publicHost } from './http/public-host.ts';
import { requestLog } from './http/request-log.ts';
import {
  isWebSocketUpgrade,
  MAX_REQUEST_HEAD_BYTES,
  requestHeadLimit,
  requestProtection,
  trustedProxies,
} from './http/request-protection.ts';
import { effectiveSettingsRoutes } from './http/settings/settings-routes.ts';
import { adminStatusRoutes } from './http/status-routes.ts';
import { policyRoutes } from './policies/http/policy-routes.ts';
import { policyPreviewRoutes } from './policies/http/preview-routes.ts';
import { realtimeRoutes } from './realtime/routes.ts';
import { createListStreamHandler } from './realtime/stream-route.ts';
import type { Services } from './services.ts';
import { deliveryRoutes } from './webhooks/http/delivery-routes.ts';
import { discoveryRoutes } from './webhooks/http/discovery-routes.ts';
import { endpointRoutes } from './webhooks/http/endpoint-routes.ts';
import { restHookRoutes } from './webhooks/http/hook-routes.ts';

const PLUGIN_BODY_BYTES = 3 * 1_048_576;
/**
 * The parser accepts larger heads than the server, so that the server can reject them as requests with a known origin.
 * It is less than Node reads at once (64 KiB), so that the beginning of a head that the parser rejects is known, too.
 */
const PARSED_HEAD_BYTES = 3 * MAX_REQUEST_HEAD_BYTES;
/** Ids have up to 128 characters, and each may be percent-encoded as three. */
const MAX_PARAMETER_LENGTH = 512;

/** Builds the HTTP server around the services; it does not listen yet. */
export async function buildApp(services: Services, log: Logger): Promise<FastifyInstance> {
  const config = services.config.server;
  const app = createServer(config, log);
  const routes: DeclaredRoute[] = [];

  app.decorate('basePath', config.basePath);
  await app.register(drainConnections);
  await app.register(requestProtection, { config });
  await app.register(cors, { config });
  await app.register(requestHeadLimit);
  await app.register(requestLog, { config, log });
  await app.register(errorHandling);
  await app.register(responseBasePath);
  await app.register(publicHost, { config });
  await app.register(methodNotAllowed);
  await app.register(declaredRoutes, { routes });
  await app.register(developmentGuard, { config });
  await app.register(rejectImpersonatedWrites);

  await app.register(async function open(context) {
    const details = async () => ({ events: await services.events.inShort() });
    await context.register(healthRoutes, {
      ...services,
      ...(services.config.mode === 'development' ? { details } : {}),
    });
    await context.register(hostedPageRoutes, services);
    if (services.config.mode === 'development') await context.register(exampleRoutes);
  });

  await app.register(async function docs(context) {
    await context.register(anonymousAccess);
    await context.register(rateLimit, { requestRate: new RequestRateLimiter(config.rate) });
    await context.register(docsRoutes);
  });

  await app.register(async function dashboard(context) {
    await context.register(dashboardRoutes);
    await context.register(async function sessions(context) {
      await context.register(anonymousAccess);
      await context.register(rateLimit, { requestRate: new RequestRateLimiter(config.rate) });
      await context.register(jsonBodies, { config });
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
    await context.register(anonymousAccess);
    await context.register(rateLimit, { requestRate: new RequestRateLimiter(config.rate) });
    await context.register(async function credentials(context) {
      await context.register(jsonBodies, { config });
      await context.register(factorLoginRoutes, services.auth);
      await context.register(passkeyLoginRoutes, services.auth);
      const { base } = services.config.auth;
      await context.register(magicLinkRoutes, { ...services, ...services.auth, ...config, base });
      await context.register(signInRoutes, { ...services.byProviders, ...services.auth, publicUrl: config.publicUrl });
    });
    await context.register(async function providers(context) {
      await context.register(formBodies, { config });
      await context.register(providerSignInRoutes, { ...services.byProviders, publicUrl: config.publicUrl });
    });
  });

  await app.register(async function api(context) {
    const badCredentials = new BadCredentialThrottle(config.rate.anonymous);
    const isForeign = (request: FastifyRequest) => usesCustomAuthorization(services.functions.endpoints, request);
    await context.register(authentication, { ...services.auth, badCredentials, isForeign });
    await context.register(streamTickets, { ...services.auth, badCredentials });
    await context.register(requireAdminMfa);
    await context.register(readOnlyKeys);
    await context.register(rateLimit, services);
    await context.register(impersonationHeader, services);
    await context.register(explainPolicies, services);
    await context.register(cacheHeaders);
    await context.register(async function documents(context) {
      await context.register(jsonBodies, { config });
      await context.register(readRoutes, {
        prefix: '/api',
        ...services,
        listBytes: services.config.collections.listBytes,
        position: () => services.events.feed.position,
        live: createListStreamHandler(services.realtime),
      });
      await context.register(writeRoutes, services);
      await context.register(collectionAdminRoutes, services);
      await context.register(collectionIndexRoutes, services);
      await context.register(policyRoutes, services);
      const subscriptions = () => services.realtime.open();
      await context.register(policyPreviewRoutes, { ...services, ...services.auth, mode: config.mode, subscriptions });
      await context.register(signedUrlRoutes, { ...services, publicUrl: config.publicUrl });
      const position = () => services.events.feed.position;
      await context.register(endpointRoutes, { ...services, ...services.auth, mode: config.mode, position });
      await context.register(deliveryRoutes, { ...services, ...services.auth, mode: config.mode, position });
      await context.register(restHookRoutes, { ...services, ...services.auth, mode: config.mode });
      const described = new CollectionSchemas(services);
      await context.register(discoveryRoutes, { ...services, described, publicUrl: config.publicUrl });
      await context.register(runRoutes, services);
    });
    await context.register(async function calls(context) {
      await context.register(functionCallBodies, { config, maxBytes: MAX_REQUEST_BODY_BYTES });
      await context.register(callRoutes, { ...services, mode: config.mode });
    });
    await context.register(async function plugins(context) {
      // Scripts of a megabyte are longer as JSON.
      await context.register(jsonBodies, {
        config: { ...config, bodyBytes: Math.max(config.bodyBytes, PLUGIN_BODY_BYTES) },
      });
      await context.register(pluginRoutes, { ...services, ...services.functions.plugins });
      await context.register(jobRoutes, services);
      await context.register(dryRunRoutes, { ...services, ...services.functions, ...services.functions.plugins });
    });
    await context.register(async function accounts(context) {
      await context.register(jsonBodies, { config });
      await context.register(currentUserRoutes, services.auth);
      await context.register(factorRoutes, services.auth);
      await context.register(passkeyRoutes, services.auth);
      await context.register(identityRoutes, {
        ...services.byProviders,
        ...services.auth,
        publicUrl: config.publicUrl,
      });
      await context.register(userRoutes, { ...services, users: new ManagedUsers(services.auth) });
      await context.register(apiKeyRoutes, { ...services, ...services.auth, keys: new ManagedApiKeys(services.auth) });
      await context.register(providerRoutes, { ...services, base: services.config.auth.base });
      await context.register(settingsRoutes, services);
      await context.register(effectiveSettingsRoutes, {
        policies: services.policies,
        config: services.config,
        server: {
          version: VERSION,
          databaseVersion: services.mongo.version,
          mailTransport: services.auth.testEmail.way,
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
    await context.register(typingsRoutes, { ...services, seen });
    await context.register(eventRoutes, { ...services, ...services.auth });
    await context.register(realtimeRoutes, { ...services, config });
    await context.register(adminStatusRoutes, services);
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
