/**
 * `Millrace-As`: a read is answered as another principal would be, for owners. From this hook on the request has that
 * principal, so routes cannot tell the difference. A route takes the header if its operation says `as`; everywhere else a
 * request with it is refused, whoever sends it and before anything is read, so that nothing can be written as another.
 * Not here: who may look so (policies/standing/looking-as.ts).
 */
import fp from 'fastify-plugin';
import { parseWhom, WHOM_FORMS } from '../../auth/identity/whom.ts';
import type { Declaration } from '../../contract/operation.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { LookingAs } from '../../policies/standing/looking-as.ts';
import { inGeneral } from '../openapi/openapi.ts';

const HEADER = 'millrace-as';

/** Refuses the header wherever a route does not take it. Register it for all contexts. */
export const onlyReadsAs = fp(
  async (app) => {
    const known = new WeakMap<Declaration, boolean>();
    const takes = (declaration: Declaration): boolean => {
      const takesIt = known.get(declaration) ?? (declaration.kind !== 'outside' && inGeneral(declaration).as === true);
      known.set(declaration, takesIt);
      return takesIt;
    };
    app.addHook('onRequest', (request, _reply, done) => {
      const { contract } = request.routeOptions.config ?? {};
      if (request.headers[HEADER] === undefined || (contract !== undefined && takes(contract))) {
        done();
        return;
      }
      done(
        new MillraceError('forbidden', 'Nothing is done as another principal', {
          hint: 'Millrace-As is for reading documents, files and events; over a socket, `as` of a subscription is the same',
        }),
      );
    });
  },
  { name: 'only-reads-as' },
);

export interface LookingAsOptions {
  readonly lookingAs: LookingAs;
}

/** Register it after the rate limit: the rate is that of the owner. */
export const lookingAsOthers = fp<LookingAsOptions>(
  async (app, { lookingAs }) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const given = request.headers[HEADER];
      if (given === undefined) {
        done();
        return;
      }
      try {
        // Before the value is looked at, so that others learn nothing of what it may be.
        lookingAs.require(request.asker);
      } catch (error) {
        done(error instanceof Error ? error : new Error('Looking as another failed', { cause: error }));
        return;
      }
      const whom = parseWhom(String(given));
      if (whom === null) {
        done(new MillraceError('malformed-request', `Millrace-As must be ${WHOM_FORMS}`));
        return;
      }
      lookingAs.begin(request.asker, whom, request.id).then((principal) => {
        request.principal = principal;
        request.as = whom;
        done();
      }, done);
    });
  },
  { name: 'looking-as', dependencies: ['authentication', 'rate-limit'] },
);
