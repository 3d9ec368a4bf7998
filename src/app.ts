/**
 * Registers every context of the HTTP server, in order. The context of a route decides whether it needs a credential,
 * never a test of its URL: routes under `api` are authenticated, routes under `open` are not.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { apiKeyRoutes } from './auth/http/api-key-routes.ts';
import { currentUserRoutes } from './auth/http/current-user-routes.ts';
import { identityRoutes } from './auth/http/identity-routes.ts';
import { magicLinkRoutes } from './auth/http/magic-link-routes.ts';
import { ManagedApiKeys } from './auth/http/managed-keys.ts';
import { ManagedUsers } from './auth/http/managed-users.ts';
import { factorLoginRoutes, factorRoutes } from './auth/http/mfa-routes.ts';
import { providerSignInRoutes } from './auth/http/oauth-routes.ts';
import { passkeyLoginRoutes, passkeyRoutes } from './auth/http/passkey-routes.ts';
import { providerRoutes } from './auth/http/provider-routes.ts';
import { settingsRoutes } from './auth/http/settings-routes.ts';
import { hostedPageRoutes } from './auth/http/sign-in-page-routes.ts';
import { signInRoutes } from './auth/http/sign-in-routes.ts';
import { userRoutes } from './auth/http/user-admin-routes.ts';
import { RequestRateLimiter } from './auth/request-rate-limiter.ts';
import { VERSION } from './cli-text.ts';
import { collectionAdminRoutes, collectionIndexRoutes } from './collections/http/collection-routes.ts';
import { readRoutes } from './collections/http/read-routes.ts';
import { writeRoutes } from './collections/http/write-routes.ts';
import { CollectionList } from './collections/schema/collection-list.ts';
import { InferredCollectionSchemas } from './collections/schema/inferred-collection-schemas.ts';
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
import { authentication, cacheHeaders, readOnlyKeyGuard, skipAuthentication } from './http/access/authentication.ts';
import { explainPolicies } from './http/access/explain-policies.ts';
import { impersonationHook, rejectImpersonatedWrites } from './http/access/impersonation.ts';
import { BadCredentialThrottle, rateLimit } from './http/access/rate-limit.ts';
import { requireAdminMfa } from './http/access/require-admin-mfa.ts';
import { streamTickets } from './http/access/stream-tickets.ts';
import { adminStatusRoutes } from './http/admin-status-routes.ts';
import { prefixResponseUrls } from './http/base-path.ts';
import { formBodies, functionCallBodies, jsonBodies } from './http/body-parsers.ts';
import { cors } from './http/cors.ts';
import { developmentGuard } from './http/development-guard.ts';
import { docsRoutes } from './http/docs/docs-routes.ts';
import { drainConnections } from './http/draining.ts';
import { errorHandling } from './http/errors.ts';
import { exampleRoutes } from './http/example-page-routes.ts';
import { healthRoutes } from './http/health.ts';
import { hostValidation } from './http/host-validation.ts';
import { methodNotAllowed } from './http/method-not-allowed.ts';
import { openApiRouteCollector } from './http/openapi/declared-routes.ts';
import type { DeclaredRoute } from './http/openapi/openapi.ts';
import { OpenApiDocuments, openApiDocumentRoute } from './http/openapi/openapi-document-route.ts';
import { requestLog } from './http/request-log.ts';
import { requestHeadLimit, requestProtection } from './http/security-headers-and-limits.ts';
import { createHttpServer } from './http/server.ts';
import { effectiveSettingsRoutes } from './http/settings/effective-settings-routes.ts';
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

/** Builds the HTTP server around the services; it does not listen yet. Each call lists what its routes use. */
export async function buildApp(services: Services, log: Logger): Promise<FastifyInstance> {
  const { auth, events, functions, oauth, policies, realtime, registry, webhooks } = services;
  const { collections, files, streamedResponses } = services;
  const { providers, redirects, providerSignIn, providerLogOut, codes, claimRenewals } = oauth;
  const { authenticator, signIn, recovery, sessions, users, factors, factorSignIn, passkeys, passkeySignIn } = auth;
  const { magicLinkSignIn, reauthentication, firstAdmin, keys } = auth;
  const config = services.config.server;
  const { mode, publicUrl } = config;
  const { listBytes } = services.config.collections;
  const position = () => events.feed.position;
  const app = createHttpServer(config, log);
  const routes: DeclaredRoute[] = [];

  app.decorate('basePath', config.basePath);
  await app.register(drainConnections);
  await app.register(requestProtection, { config });
  await app.register(cors, { config });
  await app.register(requestHeadLimit);
  await app.register(requestLog, { config, log });
  await app.register(errorHandling);
  await app.register(prefixResponseUrls);
  await app.register(hostValidation, { config });
  await app.register(methodNotAllowed);
  await app.register(openApiRouteCollector, { routes });
  await app.register(developmentGuard, { config });
  await app.register(rejectImpersonatedWrites);

  await app.register(async function open(context) {
    const details = async () => ({ events: await events.inShort() });
    await context.register(healthRoutes, { ready: services.ready, ...(mode === 'development' && { details }) });
    await context.register(hostedPageRoutes, { redirects });
    if (mode === 'development') await context.register(exampleRoutes);
  });

  await app.register(async function docs(context) {
    await context.register(skipAuthentication);
    await context.register(rateLimit, { requestRate: new RequestRateLimiter(config.rate) });
    await context.register(docsRoutes);
  });

  await app.register(async function dashboard(context) {
    await context.register(dashboardRoutes);
    await context.register(async function dashboardSessions(context) {
      await context.register(skipAuthentication);
      await context.register(rateLimit, { requestRate: new RequestRateLimiter(config.rate) });
      await context.register(jsonBodies, { config });
      await context.register(sessionRoutes, {
        config,
        policies,
        signIn,
        factorSignIn,
        passkeySignIn,
        magicLinkSignIn,
        sessions,
        firstAdmin,
        codes,
        claimRenewals,
        version: VERSION,
      });
    });
  });

  await app.register(async function signingIn(context) {
    await context.register(skipAuthentication);
    await context.register(rateLimit, { requestRate: new RequestRateLimiter(config.rate) });
    await context.register(async function credentials(context) {
      await context.register(jsonBodies, { config });
      await context.register(factorLoginRoutes, { factorSignIn });
      await context.register(passkeyLoginRoutes, { passkeys, passkeySignIn });
      const { base } = services.config.auth;
      await context.register(magicLinkRoutes, { magicLinkSignIn, redirects, mode, publicUrl, base });
      await context.register(signInRoutes, {
        signIn,
        recovery,
        emailProof: auth.emailProof,
        authenticator,
        magicLinkSignIn,
        firstAdmin,
        signingKeys: auth.signingKeys,
        providerSignIn,
        codes,
        claimRenewals,
        publicUrl,
      });
    });
    await context.register(async function identityProviders(context) {
      await context.register(formBodies, { config });
      await context.register(providerSignInRoutes, { providerSignIn, providerLogOut, publicUrl });
    });
  });

  await app.register(async function api(context) {
    const badCredentials = new BadCredentialThrottle(config.rate.anonymous);
    const isForeign = (request: FastifyRequest) => usesCustomAuthorization(functions.endpoints, request);
    await context.register(authentication, { authenticator, badCredentials, isForeign });
    await context.register(streamTickets, { authenticator, badCredentials });
    await context.register(requireAdminMfa);
    await context.register(readOnlyKeyGuard);
    await context.register(rateLimit, { requestRate: services.requestRate });
    await context.register(impersonationHook, { impersonation: services.impersonation });
    await context.register(explainPolicies, { policies });
    await context.register(cacheHeaders);
    await context.register(async function documents(context) {
      await context.register(jsonBodies, { config });
      await context.register(readRoutes, {
        prefix: '/api',
        collections,
        policies,
        streamedResponses,
        listBytes,
        position,
        live: createListStreamHandler(realtime),
      });
      const { bulkWrites, atomic, idempotency } = services;
      await context.register(writeRoutes, { collections, bulkWrites, policies, atomic, idempotency });
      await context.register(collectionAdminRoutes, { policies, catalogue: services.catalogue });
      await context.register(collectionIndexRoutes, { policies, indexes: services.indexes });
      const { policyRegistry } = services;
      await context.register(policyRoutes, { policies, policyRegistry });
      const subscriptions = () => realtime.open();
      const { tail } = events;
      const preview = { policies, policyRegistry, mode, authenticator, tail, subscriptions };
      await context.register(policyPreviewRoutes, preview);
      await context.register(signedUrlRoutes, { files, policies, publicUrl });
      const { endpoints, sender, samples, replays, maySendUserEvents } = webhooks;
      await context.register(endpointRoutes, {
        authenticator,
        policies,
        endpoints,
        sender,
        samples,
        replays,
        maySendUserEvents,
        mode,
        position,
      });
      await context.register(deliveryRoutes, { policies, endpoints, sender, mode });
      await context.register(restHookRoutes, { authenticator, policies, endpoints, mode });
      const described = new InferredCollectionSchemas({ collections, registry, policies });
      await context.register(discoveryRoutes, { policies, collections, registry, described, samples, publicUrl });
      const { runs, repeats } = functions;
      await context.register(runRoutes, { policies, streamedResponses, runs, repeats });
    });
    await context.register(async function calls(context) {
      await context.register(functionCallBodies, { config, maxBytes: MAX_REQUEST_BODY_BYTES });
      await context.register(callRoutes, { policies, streamedResponses, mode, endpoints: functions.endpoints });
    });
    await context.register(async function plugins(context) {
      // Scripts of a megabyte are longer as JSON.
      await context.register(jsonBodies, {
        config: { ...config, bodyBytes: Math.max(config.bodyBytes, PLUGIN_BODY_BYTES) },
      });
      const { plugins, shown, drafts, jobs, tryOut } = functions;
      await context.register(pluginRoutes, { policies, plugins, shown });
      await context.register(jobRoutes, { policies, jobs });
      await context.register(dryRunRoutes, { policies, drafts, tryOut });
    });
    await context.register(async function accounts(context) {
      await context.register(jsonBodies, { config });
      await context.register(currentUserRoutes, { authenticator, signIn, recovery, sessions, users, factors, keys });
      await context.register(factorRoutes, { factors, users, reauthentication });
      await context.register(passkeyRoutes, { passkeys, users, reauthentication });
      await context.register(identityRoutes, {
        providerSignIn,
        codes,
        providerLogOut,
        identities: auth.identities,
        users,
        reauthentication,
        publicUrl,
      });
      const managedUsers = new ManagedUsers({ users, sessions, factors, passkeys, reauthentication });
      await context.register(userRoutes, { policies, users: managedUsers });
      await context.register(apiKeyRoutes, { policies, keys: new ManagedApiKeys({ keys }), reauthentication });
      const { egress } = services;
      await context.register(providerRoutes, { policies, providers, egress, base: services.config.auth.base });
      await context.register(settingsRoutes, { policies, redirects });
      const { emailTemplates, testEmail, outbox } = auth.email;
      await context.register(effectiveSettingsRoutes, {
        policies,
        config: services.config,
        server: { version: VERSION, databaseVersion: services.mongo.version, mailTransport: testEmail.way },
      });
      await context.register(emailRoutes, {
        policies,
        users,
        emailTemplates,
        testEmail,
        outbox,
        reauthentication,
        config: services.config,
      });
      await context.register(auditRoutes, { policies, audit: services.audit });
    });
    const onError = (err: unknown, collection: string) =>
      log.error({ err, collection }, 'The schema of a collection cannot be inferred');
    const seen = new CollectionList({ collections, registry, policies, onError });
    const openApi = new OpenApiDocuments({
      seen,
      routes,
      endpoints: functions.reported,
      version: VERSION,
      basePath: config.basePath,
    });
    await context.register(openApiDocumentRoute, { policies, openApi });
    await context.register(typingsRoutes, { policies, seen });
    await context.register(eventRoutes, { policies, authenticator, impersonation: services.impersonation, events });
    await context.register(realtimeRoutes, { realtime, config });
    await context.register(adminStatusRoutes, {
      policies,
      events,
      runs: functions.runs,
      realtime,
      sender: webhooks.sender,
      space: services.space,
    });
    await context.register(fileRoutes, { files, policies, streamedResponses, listBytes, publicUrl, position });
  });

  return app;
}
