/**
 * Health checks for load balancers and orchestrators: whether the program runs (`/healthz`) and whether it can work
 * (`/readyz`). Open to everyone, so in production the responses name no internal part; operators find details at
 * `/admin/status`.
 */
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '../lib/errors.ts';
import { declareOperation, type OpenApiRouteConfig } from '../openapi/operation.ts';

export interface HealthOptions {
  /** Resolves when requests can be served; rejects when not. */
  readonly ready: () => Promise<void>;
  /** Additional fields of the response of `/readyz`, for development mode, where only the developer has access. */
  readonly details?: () => Promise<object>;
}

/** Declares a health route. It responds under any host, because a probe inside a network uses an internal address. */
function health(id: string, summary: string, status: string): OpenApiRouteConfig & { anyHost: true } {
  const schema = { type: 'object', required: ['status'], properties: { status: { const: status } } };
  const responses = { 200: { description: 'It does.', schema } };
  return { ...declareOperation({ id, tag: 'admin', summary, responses, errors: [] }), anyHost: true };
}

export async function healthRoutes(app: FastifyInstance, { ready, details }: HealthOptions): Promise<void> {
  app.get('/healthz', { config: health('getHealth', 'Whether the program runs', 'ok') }, async () => ({
    status: 'ok',
  }));
  app.get('/readyz', { config: health('getReadiness', 'Whether it can serve requests', 'ready') }, async () => {
    try {
      await ready();
      return { status: 'ready', ...(await details?.()) };
    } catch (error) {
      if (error instanceof MillraceError) throw error;
      throw new MillraceError('database-unavailable', 'The database does not respond', {
        headers: { 'retry-after': '1' },
        cause: error,
      });
    }
  });
}
