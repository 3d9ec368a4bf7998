/** Plugins over HTTP, for administrators. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ResourceAction, stampFromPrincipal } from '../../auth/identity/principal.ts';
import { parseVersionPrecondition, versionTag } from '../../collections/store/preconditions.ts';
import { MillraceError } from '../../lib/errors.ts';
import { requireBody, requireMediaType } from '../../lib/request.ts';
import type { Policies } from '../../policies/policies.ts';
import { createAdminScopeGuard } from '../../policies/require-scope.ts';
import type { PluginViews } from '../plugins/plugin-views.ts';
import type { PluginChange, Plugins } from '../plugins/plugins.ts';
import { PLUGIN_OPERATIONS as OPERATIONS } from './plugin-openapi.ts';

export interface PluginRoutesOptions {
  readonly policies: Policies;
  readonly plugins: Plugins;
  readonly shown: PluginViews;
}

interface OnPlugin {
  Params: { name: string };
}

interface OnVersion {
  Params: { name: string; version: string };
}

interface OnSecret {
  Params: { name: string; secret: string };
}

interface OnFunction {
  Params: { name: string; functionName: string };
}

const URL = '/admin/plugins';

export async function pluginRoutes(app: FastifyInstance, options: PluginRoutesOptions): Promise<void> {
  const { policies, plugins, shown } = options;
  const enter = createAdminScopeGuard(policies, '_admin');
  const changeOf = (request: FastifyRequest<OnPlugin>, action: ResourceAction): PluginChange => ({
    name: request.params.name,
    stamp: stampFromPrincipal(enter(request, action), request.id),
    condition: parseVersionPrecondition(request.headers),
  });
  const send = async (reply: FastifyReply, name: string) => {
    const { plugin, tag } = await shown.one(name);
    return reply.header('etag', versionTag(tag)).send(plugin);
  };

  app.get(URL, { config: OPERATIONS.list }, async (request) => {
    enter(request, 'read');
    return shown.list();
  });

  app.get<OnPlugin>(`${URL}/:name`, { config: OPERATIONS.get }, async (request, reply) => {
    enter(request, 'read');
    return send(reply, request.params.name);
  });

  app.put<OnPlugin>(`${URL}/:name`, { config: OPERATIONS.put }, async (request, reply) => {
    const change = changeOf(request, 'update');
    requireMediaType(request, ['application/json']);
    const readsUsers = policies.find(request.principal, 'read', '_admin:accounts') !== null;
    const isNew = await plugins.put(requireBody(request), change, readsUsers);
    return send(isNew ? reply.code(201).header('location', `${URL}/${change.name}`) : reply, change.name);
  });

  app.patch<OnPlugin>(`${URL}/:name`, { config: OPERATIONS.patch }, async (request, reply) => {
    const change = changeOf(request, 'update');
    requireMediaType(request, ['application/merge-patch+json', 'application/json']);
    await plugins.patch(requireBody(request), change);
    return send(reply, change.name);
  });

  app.delete<OnPlugin>(`${URL}/:name`, { config: OPERATIONS.remove }, async (request, reply) => {
    await plugins.remove(changeOf(request, 'delete'));
    return reply.code(204).send();
  });

  app.get<OnPlugin>(`${URL}/:name/versions`, { config: OPERATIONS.versions }, async (request) => {
    enter(request, 'read');
    return shown.versions(request.params.name);
  });

  app.get<OnVersion>(`${URL}/:name/versions/:version`, { config: OPERATIONS.version }, async (request) => {
    enter(request, 'read');
    return shown.version(request.params.name, versionOf(request));
  });

  app.post<OnVersion>(
    `${URL}/:name/versions/:version/activate`,
    { config: OPERATIONS.activate },
    async (request, reply) => {
      const change = changeOf(request, 'update');
      await plugins.activate(versionOf(request), change);
      return send(reply, change.name);
    },
  );

  app.put<OnSecret>(`${URL}/:name/secrets/:secret`, { config: OPERATIONS.setSecret }, async (request, reply) => {
    const change = changeOf(request, 'update');
    requireMediaType(request, ['application/json']);
    await plugins.setSecret(request.params.secret, requireBody(request), change);
    return reply.code(204).send();
  });

  app.delete<OnSecret>(`${URL}/:name/secrets/:secret`, { config: OPERATIONS.removeSecret }, async (request, reply) => {
    await plugins.removeSecret(request.params.secret, changeOf(request, 'update'));
    return reply.code(204).send();
  });

  app.post<OnFunction>(
    `${URL}/:name/functions/:functionName/unquarantine`,
    { config: OPERATIONS.release },
    async (request, reply) => {
      const change = changeOf(request, 'update');
      await plugins.release(request.params.functionName, change);
      return send(reply, change.name);
    },
  );
}

function versionOf({ params: { name, version } }: FastifyRequest<OnVersion>): number {
  if (/^[1-9]\d{0,8}$/.test(version)) return Number(version);
  throw new MillraceError('plugin-not-found', `'${name.slice(0, 80)}' has no version '${version.slice(0, 20)}'`);
}
