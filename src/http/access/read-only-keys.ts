/**
 * Rejects read-only API keys on every route that could change something, whatever the route itself requires of the
 * policies.
 */
import fp from 'fastify-plugin';
import { MillraceError } from '../../lib/errors.ts';

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Register it after authentication. */
export const readOnlyKeys = fp(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const { principal, method, routeOptions } = request;
      const only = principal.kind === 'key' && principal.actions !== null && principal.actions.every(isReading);
      if (!only || SAFE.has(method) || routeOptions.config?.reads === true) done();
      else done(new MillraceError('forbidden', 'This key can only read'));
    });
  },
  { name: 'read-only-keys', dependencies: ['authentication'] },
);

const isReading = (action: string): boolean => action === 'read' || action === 'subscribe';
