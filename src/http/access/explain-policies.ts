/**
 * `Millrace-Explain: 1`: lists, in a response header, the policies that decided a request, if its sender may view
 * policies. For others the request header is ignored.
 */
import fp from 'fastify-plugin';
import type { AccessDecision } from '../../policies/evaluation.ts';
import type { Policies } from '../../policies/policies.ts';

/** Maximum characters of the header. */
const MAX_LENGTH = 4_000;

export interface ExplainPoliciesOptions {
  readonly policies: Policies;
}

/**
 * Register it after authentication, and after impersonation.ts: the decisions for the impersonated principal are
 * explained.
 */
export const explainPolicies = fp<ExplainPoliciesOptions>(
  async (app, { policies }) => {
    const explained = new WeakMap<object, readonly AccessDecision[]>();

    app.addHook('onRequest', (request, _reply, done) => {
      if (request.headers['millrace-explain'] === '1' && policies.find(request.asker, 'read', '_admin') !== null) {
        const { principal, decisions } = policies.recordDecisions(request.principal);
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

/** JSON in ASCII: ids of policies and names of collections contain nothing else. */
function toHeader(decisions: readonly AccessDecision[]): string {
  let header = '';
  for (const decision of decisions) {
    const longer = `${header}${header === '' ? '' : ','}${JSON.stringify(decision)}`;
    if (header !== '' && longer.length > MAX_LENGTH) break;
    header = longer;
  }
  return `[${header}]`;
}
