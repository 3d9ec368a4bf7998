/**
 * `Millrace-As`: lets administrators read as another principal. From this hook on the request has that principal, so
 * routes cannot notice the difference. A route accepts the header if its operation says `as`; everywhere else a request
 * with it is rejected, from any sender and before anything is read, so that nothing can be written as another
 * principal.
 */
import fp from 'fastify-plugin';
import {
  IMPERSONATION_TARGET_SYNTAX,
  parseImpersonationTarget,
} from '../../auth/identity/parse-impersonation-target.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { OpenApiRouteDeclaration } from '../../openapi/operation.ts';
import type { ImpersonationService } from '../../policies/impersonation.ts';
import { generalOperation } from '../openapi/openapi.ts';

const HEADER = 'millrace-as';

/** Rejects the header wherever a route does not accept it. Register it for all contexts. */
export const rejectImpersonatedWrites = fp(
  async (app) => {
    const known = new WeakMap<OpenApiRouteDeclaration, boolean>();
    const takes = (declaration: OpenApiRouteDeclaration): boolean => {
      const takesIt =
        known.get(declaration) ?? (declaration.kind !== 'outside' && generalOperation(declaration).as === true);
      known.set(declaration, takesIt);
      return takesIt;
    };
    app.addHook('onRequest', (request, _reply, done) => {
      const { openApi } = request.routeOptions.config ?? {};
      if (request.headers[HEADER] === undefined || (openApi !== undefined && takes(openApi))) {
        done();
        return;
      }
      done(
        new MillraceError('forbidden', 'This request cannot be made as another principal', {
          hint: 'Millrace-As is for reading documents, files and events; over a socket, `as` of a subscription is the same',
        }),
      );
    });
  },
  { name: 'only-reads-as' },
);

export interface ImpersonationOptions {
  readonly impersonation: ImpersonationService;
}

/** Register it after the rate limit: the rate is that of the administrator. */
export const impersonationHook = fp<ImpersonationOptions>(
  async (app, { impersonation }) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const given = request.headers[HEADER];
      if (given === undefined) {
        done();
        return;
      }
      try {
        // Before the value is parsed, so that others cannot learn which values are valid.
        impersonation.require(request.asker);
      } catch (error) {
        done(error instanceof Error ? error : new Error('Impersonation failed', { cause: error }));
        return;
      }
      const target = parseImpersonationTarget(String(given));
      if (target === null) {
        done(new MillraceError('malformed-request', `Millrace-As must be ${IMPERSONATION_TARGET_SYNTAX}`));
        return;
      }
      impersonation.begin(request.asker, target, request.id).then((principal) => {
        request.principal = principal;
        request.as = target;
        done();
      }, done);
    });
  },
  { name: 'looking-as', dependencies: ['authentication', 'rate-limit'] },
);
