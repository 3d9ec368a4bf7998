/** Millrace's extensions of Fastify's types. */
import type { ImpersonationTarget } from './auth/identity/parse-impersonation-target.ts';
import type { RequestPrincipal } from './auth/identity/principal.ts';
import type { MillraceError } from './lib/errors.ts';
import type { OpenApiRouteDeclaration } from './openapi/operation.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** True in a context whose routes accept and return JSON only (http/body-parsers.ts); elsewhere undefined. */
    speaksJson?: true;
    /**
     * The path below which clients reach this server, such as `/backend`; empty for none (config/base-path.ts).
     */
    basePath?: string;
  }

  interface FastifyRequest {
    /**
     * The principal of the request: set by http/access/authentication.ts in every context that authenticates, otherwise
     * anonymous.
     */
    principal: RequestPrincipal;
    /**
     * The authenticated principal, whose rate limits and quotas count: the principal, unless an administrator
     * impersonates another one (http/access/impersonation.ts).
     */
    asker: RequestPrincipal;
    /** The principal that an administrator impersonates; null for every other request. */
    as: ImpersonationTarget | null;
    /**
     * Reopens the stream of the response, and is part of its event ids; null for other requests
     * (http/access/stream-tickets.ts).
     */
    streamPass: string | null;
    /** The body as it arrived; only for JSON with an `Idempotency-Key`, otherwise null. */
    rawBody: Buffer | null;
    /** The error of the response, for the log; null without one. */
    refusal: MillraceError | null;
  }

  interface FastifyContextConfig {
    /** The route's part of the OpenAPI document; a route without it does not start. */
    openApi?: OpenApiRouteDeclaration;
    /** The route only reads, whatever its method says: a read-only key may use it. */
    reads?: boolean;
    /** The route also responds with `text/event-stream`. */
    streams?: boolean;
    /** Pages of any origin may load the response, as an `<img>` does, including errors. */
    embeddable?: boolean;
    /** The route responds under any host name, also if `MILLRACE_PUBLIC_URL` has one. */
    anyHost?: boolean;
  }
}
