/**
 * `Millrace-Explain: 1`: names, in a header of the answer, the policies that decided a request, if its sender may
 * look at policies. For others the request header is ignored. Not here: the decisions themselves
 * (policies/policies.ts).
 */
import fp from 'fastify-plugin';
import type { Decision, Policies } from '../../policies/policies.ts';

/** Characters of the header at most. */
const MAX_LENGTH = 4_000;

export interface ExplainOptions {
  readonly policies: Policies;
}

/** Register it after authentication, and after looking-as.ts: explained are the decisions about whom an owner looks as. */
export const explain = fp<ExplainOptions>(
  async (app, { policies }) => {
    const explained = new WeakMap<object, readonly Decision[]>();

    app.addHook('onRequest', (request, _reply, done) => {
      if (request.headers['millrace-explain'] === '1' && policies.find(request.asker, 'read', 'admin') !== null) {
        const { principal, decisions } = policies.watch(request.principal);
        request.principal = principal;
        explained.set(request, decisions);
      }
      done();
    });

    app.addHook('onSend', (request, reply, _payload, done) => {
      const decisions = explained.get(request);
      if (decisions !== undefined) reply.header('millrace-explain', toHeader(decisions));
      done();
    });
  },
  { name: 'explain', dependencies: ['authentication'] },
);

/** JSON in ASCII: ids of policies and names of collections hold nothing else. */
function toHeader(decisions: readonly Decision[]): string {
  let header = '';
  for (const decision of decisions) {
    const longer = `${header}${header === '' ? '' : ','}${JSON.stringify(decision)}`;
    if (header !== '' && longer.length > MAX_LENGTH) break;
    header = longer;
  }
  return `[${header}]`;
}
