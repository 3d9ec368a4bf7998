/**
 * Whether the program lives (`/healthz`) and whether it can work (`/readyz`), for load balancers and orchestrators. Open
 * to everyone, so the answers name no part of the inside.
 */
import type { FastifyInstance } from 'fastify';
import { MillraceError } from '../kernel/errors.ts';

export interface HealthOptions {
  /** Resolves when requests can be served; rejects when not. */
  readonly ready: () => Promise<void>;
}

export async function healthRoutes(app: FastifyInstance, { ready }: HealthOptions): Promise<void> {
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.get('/readyz', async () => {
    try {
      await ready();
    } catch (error) {
      if (error instanceof MillraceError) throw error;
      throw new MillraceError('database-unavailable', 'The database does not answer', {
        headers: { 'retry-after': '1' },
        cause: error,
      });
    }
    return { status: 'ready' };
  });
}
