/**
 * Identity providers over HTTP for those who run the installation. Not here: what a provider is (auth/providers/), and
 * signing in by one.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { stampBy } from '../../auth/identity/principal.ts';
import { checkProvider } from '../../auth/providers/provider-check.ts';
import type { Providers, Shown, VersionCondition } from '../../auth/providers/providers.ts';
import { checkPreconditions, parsePreconditions } from '../../collections/store/preconditions.ts';
import type { Egress } from '../../egress/egress.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { isPlain } from '../../kernel/objects.ts';
import type { Policies } from '../../policies/policies.ts';
import { enterAt } from '../enter-at.ts';
import { PROVIDER_OPERATIONS } from './provider-operations.ts';

export interface ProviderRoutesOptions {
  readonly policies: Policies;
  readonly providers: Providers;
  readonly egress: Egress;
  /** Where people reach this server, without a slash at its end. */
  readonly base: string;
}

interface OnProvider {
  Params: { name: string };
}

const URL = '/admin/providers';

export async function providerRoutes(app: FastifyInstance, options: ProviderRoutesOptions): Promise<void> {
  const { policies, providers, egress, base } = options;
  const enter = enterAt(policies, 'admin:accounts');
  const send = (reply: FastifyReply, { provider, version }: Shown) =>
    reply.header('etag', tagOf(version)).send(provider);

  app.get(URL, { config: PROVIDER_OPERATIONS.list }, async (request) => {
    enter(request, 'read');
    return (await providers.list()).map(({ provider }) => provider);
  });

  app.post(URL, { config: PROVIDER_OPERATIONS.create }, async (request, reply) => {
    const made = await providers.create(request.body, stampBy(enter(request, 'create'), request.id));
    return send(reply.code(201).header('location', `${URL}/${made.provider.name}`), made);
  });

  app.get<OnProvider>(`${URL}/:name`, { config: PROVIDER_OPERATIONS.get }, async (request, reply) => {
    enter(request, 'read');
    return send(reply, await providers.show(request.params.name));
  });

  app.put<OnProvider>(`${URL}/:name`, { config: PROVIDER_OPERATIONS.replace }, async (request, reply) => {
    const stamp = stampBy(enter(request, 'update'), request.id);
    const { name } = request.params;
    return send(reply, await providers.replace(name, named(request.body, name), conditionOf(request), stamp));
  });

  app.delete<OnProvider>(`${URL}/:name`, { config: PROVIDER_OPERATIONS.remove }, async (request, reply) => {
    const stamp = stampBy(enter(request, 'delete'), request.id);
    await providers.remove(request.params.name, conditionOf(request), stamp);
    return reply.code(204).send();
  });

  app.post<OnProvider>(`${URL}/:name/check`, { config: PROVIDER_OPERATIONS.check }, async (request) => {
    enter(request, 'update');
    return checkProvider(await providers.latest(request.params.name), { egress, base });
  });
}

/** The body with the name of the address, which it may leave out and cannot change. */
function named(body: unknown, name: string): unknown {
  if (!isPlain(body)) return body;
  const { name: sent = name } = body;
  if (sent === name) return { ...body, name };
  const detail = 'A provider keeps its name: accounts and redirect addresses have it';
  throw new MillraceError('invalid-body', detail, { faults: [{ pointer: '/name', code: 'invalid-body', detail }] });
}

function conditionOf({ headers }: FastifyRequest): VersionCondition {
  const preconditions = parsePreconditions(headers);
  return (version) => checkPreconditions(preconditions, version === null ? null : tagOf(version));
}

function tagOf(version: string): string {
  return `"${version}"`;
}
