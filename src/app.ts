/**
 * The table of contents: every context of the HTTP server in the order of registration. The context of a route decides
 * whether a credential is needed, never a test of its URL: routes under `api` are authenticated, routes under `open`
 * are not.
 */
import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify';
import type { Logger } from 'pino';
import { keyRoutes } from './admin/accounts/key-routes.ts';
import { ManagedAccounts } from './admin/accounts/managed-accounts.ts';
import { ManagedKeys } from './admin/accounts/managed-keys.ts';
import { userRoutes } from './admin/accounts/user-routes.ts';
import { auditRoutes } from './admin/audit-routes.ts';
import { collectionAdminRoutes } from './admin/collection-routes.ts';
import { draftRoutes } from './admin/drafts/draft-routes.ts';
import { indexRoutes } from './admin/index-routes.ts';
import { installationRoutes } from './admin/installation/installation-routes.ts';
import { letterRoutes } from './admin/letters/letter-routes.ts';
import { policyRoutes } from './admin/policy-routes.ts';
import { adminRoutes } from './admin/routes.ts';
import { providerRoutes } from './admin/sign-in/provider-routes.ts';
import { settingsRoutes } from './admin/sign-in/settings-routes.ts';
import { accountRoutes } from './auth/http/account-routes.ts';
import { factorLoginRoutes } from './auth/http/factors/factor-login-routes.ts';
import { factorRoutes } from './auth/http/factors/factor-routes.ts';
import { passkeyLoginRoutes } from './auth/http/factors/passkey-login-routes.ts';
import { passkeyRoutes } from './auth/http/factors/passkey-routes.ts';
import { flowRoutes } from './auth/http/flow-routes.ts';
import { identityRoutes } from './auth/http/identity-routes.ts';
import { linkRoutes } from './auth/http/links/link-routes.ts';
import { pageRoutes } from './auth/http/page-routes.ts';
import { signInRoutes } from './auth/http/sign-in-routes.ts';
import { RequestRate } from './auth/request-rate.ts';
import { readRoutes } from './collections/http/read-routes.ts';
import { writeRoutes } from './collections/http/write-routes.ts';
import { DescribedCollections } from './collections/sample/described.ts';
import { SeenCollections } from './collections/sample/seen-collections.ts';
import { Shapes } from './collections/sample/shapes.ts';
import { dashboardRoutes } from './dashboard/page-routes.ts';
import { sessionRoutes } from './dashboard/session-routes.ts';
import { eventRoutes } from './events/routes.ts';
import { fileRoutes } from './files/routes.ts';
import { signRoutes } from './files/sign-routes.ts';
import { authorTypeRoutes } from './functions/http/author-type-routes.ts';
import { MAX_CALL_BYTES } from './functions/http/call-input.ts';
import { callRoutes, takesOwnAuthorization } from './functions/http/call-routes.ts';
import { jobRoutes } from './functions/http/job-routes.ts';
import { pluginRoutes } from './functions/http/plugin-routes.ts';
import { runRoutes } from './functions/http/run-routes.ts';
import { tryRoutes } from './functions/http/try-routes.ts';
import { VERSION } from './greeting.ts';
import { authentication, strangers } from './http/access/authentication.ts';
import { BadCredentials } from './http/access/bad-credentials.ts';
import { explain } from './http/access/explain.ts';
import { lookingAsOthers, onlyReadsAs } from './http/access/looking-as.ts';
import { ownerFactor } from './http/access/owner-factor.ts';
import { rateLimit } from './http/access/rate-limit.ts';
import { readOnlyKeys } from './http/access/read-only-keys.ts';
import { streamTickets } from './http/access/stream-tickets.ts';
import { basePathOfAnswers, withoutBasePath } from './http/base-path.ts';
import { callBodies } from './http/bodies/call-bodies.ts';
import { form } from './http/bodies/form.ts';
import { json } from './http/bodies/json.ts';
import { allowedOrigins, cors } from './http/cors.ts';
import { developmentGuard } from './http/development-guard.ts';
import { docsRoutes } from './http/docs/docs-routes.ts';
import { draining } from './http/draining.ts';
import { errors, refuseAddress } from './http/errors.ts';
import { exampleRoutes } from './http/example-routes.ts';
import { healthRoutes } from './http/health.ts';
import { methods } from './http/methods.ts';
import { Contract } from './http/openapi/contract.ts';
import { declaredRoutes } from './http/openapi/declared-routes.ts';
import type { DeclaredRoute } from './http/openapi/openapi.ts';
import { openApiRoutes } from './http/openapi/routes.ts';
import { privateAnswers } from './http/private-answers.ts';
import { asksForSocket, boundedHead, MAX_HEAD_BYTES, protection } from './http/protection.ts';
import { publicHost } from './http/public-host.ts';
import { refuseConnection } from './http/refused-heads.ts';
import { requestLog } from './http/request-log.ts';
import type { ServerConfig } from './kernel/config/config.ts';
import type { Parts } from './parts.ts';
import { realtimeRoutes } from './realtime/routes.ts';
import { listStream } from './realtime/stream-route.ts';
import { collectionRoutes } from './webhooks/http/collection-routes.ts';
import { deliveryRoutes } from './webhooks/http/delivery-routes.ts';
import { endpointRoutes } from './webhooks/http/endpoint-routes.ts';
import { hookRoutes } from './webhooks/http/hook-routes.ts';

const PLUGIN_BODY_BYTES = 3 * 1_048_576;
/**
 * The parser takes larger heads than the server, which refuses them as requests whose origin is known. Less than Node reads at once
 * (64 KiB), so that of a head that the parser refuses the beginning is known, too.
 */
const PARSED_HEAD_BYTES = 3 * MAX_HEAD_BYTES;
/** Ids have up to 128 characters, and each may be written as an escape of three. */
const MAX_PARAMETER_LENGTH = 512;

/** Builds the HTTP server around the parts; it does not listen yet. */
export async function buildApp(parts: Parts, log: Logger): Promise<FastifyInstance> {
  const config = parts.config.server;
  const app = createServer(config, log);
  const routes: DeclaredRoute[] = [];

  app.decorate('basePath', config.basePath);
  await app.register(draining);
  await app.register(protection, { config });
  await app.register(cors, { config });
  await app.register(boundedHead);
  await app.register(requestLog, { config, log });
  await app.register(errors);
  await app.register(basePathOfAnswers);
  await app.register(publicHost, { config });
  await app.register(methods);
  await app.register(declaredRoutes, { routes });
  await app.register(developmentGuard, { config });
  await app.register(onlyReadsAs);

  await app.register(async function open(context) {
    const details = async () => ({ events: await parts.events.inShort() });
    await context.register(healthRoutes, { ...parts, ...(parts.config.mode === 'development' ? { details } : {}) });
    await context.register(pageRoutes, parts);
    if (parts.config.mode === 'development') await context.register(exampleRoutes);
  });

  await app.register(async function docs(context) {
    await context.register(strangers);
    await context.register(rateLimit, { requestRate: new RequestRate(config.rate) });
    await context.register(docsRoutes);
  });

  await app.register(async function dashboard(context) {
    await context.register(dashboardRoutes);
    await context.register(async function sessions(context) {
      await context.register(strangers);
      await context.register(rateLimit, { requestRate: new RequestRate(config.rate) });
      await context.register(json, { config });
      await context.register(sessionRoutes, {
        ...parts.byProviders,
        ...parts.auth,
        ...parts,
        config,
        version: VERSION,
      });
    });
  });

  await app.register(async function signIn(context) {
    await context.register(strangers);
    await context.register(rateLimit, { requestRate: new RequestRate(config.rate) });
    await context.register(async function credentials(context) {
      await context.register(json, { config });
      await context.register(factorLoginRoutes, parts.auth);
      await context.register(passkeyLoginRoutes, parts.auth);
      const { base } = parts.config.auth;
      await context.register(linkRoutes, { ...parts, ...parts.auth, ...config, base });
      await context.register(signInRoutes, { ...parts.byProviders, ...parts.auth, publicUrl: config.publicUrl });
    });
    await context.register(async function providers(context) {
      await context.register(form, { config });
      await context.register(flowRoutes, { ...parts.byProviders, publicUrl: config.publicUrl });
    });
  });

  await app.register(async function api(context) {
    const badCredentials = new BadCredentials(config.rate.anonymous);
    const isForeign = (request: FastifyRequest) => takesOwnAuthorization(parts.functions.endpoints, request);
    await context.register(authentication, { ...parts.auth, badCredentials, isForeign });
    await context.register(streamTickets, { ...parts.auth, badCredentials });
    await context.register(ownerFactor);
    await context.register(readOnlyKeys);
    await context.register(rateLimit, parts);
    await context.register(lookingAsOthers, parts);
    await context.register(explain, parts);
    await context.register(privateAnswers);
    await context.register(async function documents(context) {
      await context.register(json, { config });
      await context.register(readRoutes, {
        prefix: '/api',
        ...parts,
        listBytes: parts.config.collections.listBytes,
        position: () => parts.events.feed.position,
        live: listStream(parts.realtime),
      });
      await context.register(writeRoutes, parts);
      await context.register(collectionAdminRoutes, { ...parts, shapes: new Shapes(parts) });
      await context.register(indexRoutes, parts);
      await context.register(policyRoutes, parts);
      const subscriptions = () => parts.realtime.open();
      await context.register(draftRoutes, { ...parts, ...parts.auth, mode: config.mode, subscriptions });
      await context.register(signRoutes, { ...parts, publicUrl: config.publicUrl });
      const position = () => parts.events.feed.position;
      await context.register(endpointRoutes, { ...parts, ...parts.auth, mode: config.mode, position });
      await context.register(deliveryRoutes, { ...parts, ...parts.auth, mode: config.mode, position });
      await context.register(hookRoutes, { ...parts, ...parts.auth, mode: config.mode });
      const described = new DescribedCollections(parts);
      await context.register(collectionRoutes, { ...parts, described, publicUrl: config.publicUrl });
      await context.register(runRoutes, parts);
    });
    await context.register(async function calls(context) {
      await context.register(callBodies, { config, maxBytes: MAX_CALL_BYTES });
      await context.register(callRoutes, { ...parts, mode: config.mode });
    });
    await context.register(async function plugins(context) {
      // Scripts of a megabyte are longer as JSON.
      await context.register(json, { config: { ...config, bodyBytes: Math.max(config.bodyBytes, PLUGIN_BODY_BYTES) } });
      await context.register(pluginRoutes, { ...parts, ...parts.functions.plugins });
      await context.register(jobRoutes, parts);
      await context.register(tryRoutes, { ...parts, ...parts.functions, ...parts.functions.plugins });
    });
    await context.register(async function accounts(context) {
      await context.register(json, { config });
      await context.register(accountRoutes, parts.auth);
      await context.register(factorRoutes, parts.auth);
      await context.register(passkeyRoutes, parts.auth);
      await context.register(identityRoutes, { ...parts.byProviders, ...parts.auth, publicUrl: config.publicUrl });
      await context.register(userRoutes, { ...parts, accounts: new ManagedAccounts(parts.auth) });
      await context.register(keyRoutes, { ...parts, ...parts.auth, keys: new ManagedKeys(parts.auth) });
      await context.register(providerRoutes, { ...parts, base: parts.config.auth.base });
      await context.register(settingsRoutes, parts);
      await context.register(installationRoutes, {
        ...parts,
        ...parts.auth,
        version: VERSION,
        databaseVersion: parts.mongo.version,
      });
      await context.register(letterRoutes, { ...parts, ...parts.auth });
      await context.register(auditRoutes, parts);
    });
    const onError = (err: unknown, collection: string) =>
      log.error({ err, collection }, 'A collection cannot be described');
    const seen = new SeenCollections({ ...parts, onError });
    const contract = new Contract({
      seen,
      routes,
      endpoints: parts.functions.told,
      version: VERSION,
      basePath: config.basePath,
    });
    await context.register(openApiRoutes, { ...parts, contract });
    await context.register(authorTypeRoutes, { ...parts, seen });
    await context.register(eventRoutes, { ...parts, ...parts.auth });
    await context.register(realtimeRoutes, { ...parts, config });
    await context.register(adminRoutes, parts);
    await context.register(fileRoutes, {
      ...parts,
      publicUrl: config.publicUrl,
      listBytes: parts.config.collections.listBytes,
      position: () => parts.events.feed.position,
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
    // Each log line names its request, so no logger has to be made for each request.
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
      // Node hands an upgrade over without its body, so only requests for a WebSocket may be upgrades.
      shouldUpgradeCallback: ({ headers }) => asksForSocket(headers),
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

/** Fastify takes addresses, or a function of the address and its distance in hops. */
function trustedProxies(
  trusted: ServerConfig['trustProxy'],
): false | string[] | ((address: string, hop: number) => boolean) {
  if (trusted === false) return false;
  return typeof trusted === 'number' ? (_address, hop) => hop < trusted : [...trusted];
}
