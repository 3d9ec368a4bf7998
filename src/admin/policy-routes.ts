/**
 * The policies over HTTP, for owners: reading and changing them, their versions, and trying them out. Not here: what a
 * policy means (policies/).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Action } from '../auth/identity/principal.ts';
import { objectBody } from '../collections/http/request-body.ts';
import { MillraceError } from '../kernel/errors.ts';
import { requireBody, requireMediaType } from '../kernel/request.ts';
import { enterAt } from '../policies/http/enter-at.ts';
import type { Policies } from '../policies/policies.ts';
import type { PolicyBook } from '../policies/policy-book.ts';
import type { WrittenPolicy } from '../policies/policy-set.ts';
import type { ActionOf, Scope } from '../policies/scope.ts';
import { parseCheck, parseQuestion } from '../policies/trial/trial-question.ts';
import { judgeTrial } from '../policies/trial/verdict.ts';
import { warningsOf } from '../policies/warnings.ts';
import { POLICIES } from './policy-operations.ts';

export interface PolicyRoutesOptions {
  readonly policies: Policies;
  readonly policyBook: PolicyBook;
}

interface OnPolicy {
  Params: { id: string };
}

interface OnVersion {
  Params: { version: string };
}

const URL = '/admin/policies';

export async function policyRoutes(app: FastifyInstance, options: PolicyRoutesOptions): Promise<void> {
  const { policies, policyBook } = options;
  const enter = enterAt(policies, 'admin');
  const withBody = <A extends Action>(request: FastifyRequest, action: A): Scope<ActionOf<A>, 'admin'> => {
    const scope = enter(request, action);
    requireMediaType(request, ['application/json']);
    return scope;
  };

  app.get(URL, { config: POLICIES.list }, async (request) => {
    const { version, policies: written } = await policyBook.list(enter(request, 'read'));
    return { version, policies: written.map(toWire) };
  });

  app.post(URL, { config: POLICIES.create }, async (request, reply) => {
    const scope = withBody(request, 'create');
    const policy = await policyBook.create(scope, objectBody(request), request.id);
    return reply.code(201).header('location', `${URL}/${policy.id}`).send(toSaved(policy));
  });

  app.put<OnPolicy>(`${URL}/:id`, { config: POLICIES.replace }, async (request) => {
    const scope = withBody(request, 'update');
    return toSaved(await policyBook.replace(scope, request.params.id, objectBody(request), request.id));
  });

  app.delete<OnPolicy>(`${URL}/:id`, { config: POLICIES.remove }, async (request, reply) => {
    await policyBook.remove(enter(request, 'delete'), request.params.id, request.id);
    return reply.code(204).send();
  });

  app.get(`${URL}/versions`, { config: POLICIES.versions }, async (request) => {
    const versions = await policyBook.versions(enter(request, 'read'));
    return versions.map(({ version, at, by, policies: written }) => ({
      version,
      at: at.toISOString(),
      by,
      policies: written.map(toWire),
    }));
  });

  app.post<OnVersion>(`${URL}/versions/:version/restore`, { config: POLICIES.restore }, async (request) => {
    const scope = enter(request, 'update');
    const { version } = request.params;
    if (!/^\d{1,9}$/.test(version)) throw new MillraceError('policy-not-found', `There is no version '${version}'`);
    const { policies: written, ...restored } = await policyBook.restore(scope, Number(version), request.id);
    return { ...restored, policies: written.map(toWire) };
  });

  // Trying policies out changes nothing, so the right to read them is enough.
  app.post(`${URL}/test`, { config: { ...POLICIES.test, reads: true } }, async (request) => {
    withBody(request, 'read');
    return judgeTrial(policies, parseQuestion(requireBody(request)));
  });

  app.post(`${URL}/check`, { config: { ...POLICIES.check, reads: true } }, async (request) => {
    withBody(request, 'read');
    const failed: object[] = [];
    const cases = parseCheck(requireBody(request));
    for (const [index, { question, expect, name }] of cases.entries()) {
      const { verdict, policy, reason } = judgeTrial(policies, question);
      if (verdict === expect) continue;
      failed.push({
        index,
        ...(name === undefined ? {} : { name }),
        expect,
        verdict,
        policy,
        ...(reason && { reason }),
      });
    }
    return { passed: cases.length - failed.length, failed };
  });
}

/** The answer to saving a policy: what is probably not meant stands in `warnings`, if there is anything. */
function toSaved(written: WrittenPolicy): object {
  const warnings = warningsOf(written);
  return warnings.length === 0 ? toWire(written) : { ...toWire(written), warnings };
}

function toWire({ id, policy }: WrittenPolicy): object {
  return { id, ...(typeof policy === 'object' ? policy : {}) };
}
