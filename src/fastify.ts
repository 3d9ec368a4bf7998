/** What Millrace adds to Fastify's own types, and nothing else. */
import type { ClientPrincipal } from './auth/identity/principal.ts';
import type { Whom } from './auth/identity/whom.ts';
import type { Declaration } from './contract/operation.ts';
import type { MillraceError } from './kernel/errors.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** True in a context whose routes take and answer JSON alone (http/bodies/json.ts); elsewhere undefined. */
    speaksJson?: true;
    /** The path below which clients reach this server, such as `/backend`; empty for none (http/base-path.ts). */
    basePath?: string;
  }

  interface FastifyRequest {
    /**
     * The principal of the request: set by http/access/authentication.ts in every context that authenticates, otherwise
     * anonymous.
     */
    principal: ClientPrincipal;
    /**
     * Who proved its identity, and whose rates and bounds count: the principal, unless an owner looks as another one
     * (http/access/looking-as.ts).
     */
    asker: ClientPrincipal;
    /** As whom an owner looks; null for every other request. */
    as: Whom | null;
    /** Opens the stream that answers again, and belongs into its event ids; null for other requests (http/access/stream-tickets.ts). */
    streamPass: string | null;
    /** The body as it arrived; only for JSON with an `Idempotency-Key`, otherwise null. */
    rawBody: Buffer | null;
    /** The error that the request was answered with, for the log; null when there was none. */
    refusal: MillraceError | null;
  }

  interface FastifyContextConfig {
    /** What the route says of itself for the contract; a route without it does not start. */
    contract?: Declaration;
    /** The route only reads, whatever its method says: a read-only key may use it. */
    reads?: boolean;
    /** The route also answers as `text/event-stream`. */
    streams?: boolean;
    /** Pages of any origin may load what the route answers, such as an `<img>` does, and its refusals with it. */
    embeddable?: boolean;
    /** The route answers under any host name, also where `MILLRACE_PUBLIC_URL` names one. */
    anyHost?: boolean;
  }
}
