/** Plugins over HTTP, for administrators. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ResourceAction, stampFromPrincipal } from '../../auth/identity/principal.ts';
import { parseVersionPrecondition, versionTag } from '../../collections/store/preconditions.ts';
import { MillraceError } from '../../lib/errors.ts';
import { requireBody, requireMediaType } from '../../lib/request.ts';
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  NO_CONTENT_RESPONSE,
  PRECONDITION_ERRORS,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { IF_MATCH, IF_NONE_MATCH, pathParameter } from '../../openapi/parameters.ts';
import { arraySchema, namedSchema } from '../../openapi/schema.ts';
import { createAdminScopeGuard } from '../../policies/admin-scope-guard.ts';
import type { Policies } from '../../policies/policies.ts';
import { PLUGIN_BODY, PLUGIN_PATCH, SECRET_BODY } from '../plugins/plugin-body.ts';
import type { PluginViews } from '../plugins/plugin-views.ts';
import type { PluginChangeRequest, Plugins } from '../plugins/plugins.ts';
import {
  PLUGIN_DETAILS_SHAPE,
  PLUGIN_SHAPE,
  PLUGIN_VERSION_DETAILS_SHAPE,
  PLUGIN_VERSION_SHAPE,
} from './plugin-schemas.ts';

const tag = 'functions';

export const PLUGIN_NAME_PARAMETER = pathParameter(
  'name',
  'Name of the plugin.',
  { type: 'string', minLength: 1, maxLength: 40 },
  'pluginName',
);
const PATCH = namedSchema('PluginPatch', PLUGIN_PATCH);
const VERSION = pathParameter('version', 'The number of a version.', { type: 'integer', minimum: 1 });
const SECRET = pathParameter('secret', 'Name of the secret.', { type: 'string', minLength: 1, maxLength: 64 });
export const FUNCTION_NAME_PARAMETER = pathParameter(
  'functionName',
  'Name of the function.',
  { type: 'string', minLength: 1, maxLength: 40 },
  'pluginFunction',
);

const PLUGIN_OPERATIONS = {
  list: declareOperation({
    id: 'listPlugins',
    tag,
    summary: 'List plugins and their functions',
    responses: jsonResponse('All plugins, in the order of their names.', arraySchema(PLUGIN_SHAPE)),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  get: declareOperation({
    id: 'getPlugin',
    tag,
    summary: 'Get a plugin with its manifest and scripts',
    parameters: [PLUGIN_NAME_PARAMETER],
    responses: jsonResponse('The plugin.', PLUGIN_DETAILS_SHAPE, 200, ['ETag']),
    errors: [...QUERY_PARAMETER_ERRORS, 'plugin-not-found'],
  }),
  put: declareOperation({
    id: 'replacePlugin',
    tag,
    summary: 'Store and activate a version of a plugin',
    description:
      'It is active in every process within a second. An invalid version is rejected, and the previous one stays active. ' +
      'Triggers for events of users, keys or settings require the right to read those.',
    parameters: [PLUGIN_NAME_PARAMETER, IF_MATCH, IF_NONE_MATCH],
    body: jsonBody(PLUGIN_BODY),
    responses: {
      ...jsonResponse('The plugin with its new version.', PLUGIN_DETAILS_SHAPE, 200, ['ETag']),
      ...jsonResponse('The new plugin.', PLUGIN_DETAILS_SHAPE, 201, ['Location', 'ETag']),
    },
    errors: [...VALIDATION_ERRORS, ...PRECONDITION_ERRORS, 'invalid-plugin', 'too-many-plugins', 'plugin-in-folder'],
  }),
  patch: declareOperation({
    id: 'updatePlugin',
    tag,
    summary: 'Enable or disable a plugin',
    parameters: [PLUGIN_NAME_PARAMETER, IF_MATCH],
    body: { 'application/merge-patch+json': PATCH, 'application/json': PATCH },
    responses: jsonResponse('The plugin.', PLUGIN_DETAILS_SHAPE, 200, ['ETag']),
    errors: [...VALIDATION_ERRORS, ...PRECONDITION_ERRORS, 'plugin-not-found'],
  }),
  remove: declareOperation({
    id: 'deletePlugin',
    tag,
    summary: 'Delete a plugin with its versions and secrets',
    parameters: [PLUGIN_NAME_PARAMETER, IF_MATCH],
    responses: { 204: { description: 'Deleted. Its runs are kept.' } },
    errors: [...QUERY_PARAMETER_ERRORS, ...PRECONDITION_ERRORS, 'plugin-not-found', 'plugin-in-folder'],
  }),
  versions: declareOperation({
    id: 'listPluginVersions',
    tag,
    summary: 'List the stored versions of a plugin',
    parameters: [PLUGIN_NAME_PARAMETER],
    responses: jsonResponse('The last 100, the newest first.', arraySchema(PLUGIN_VERSION_SHAPE)),
    errors: [...QUERY_PARAMETER_ERRORS, 'plugin-not-found'],
  }),
  version: declareOperation({
    id: 'getPluginVersion',
    tag,
    summary: 'Get a version of a plugin with its manifest and scripts',
    parameters: [PLUGIN_NAME_PARAMETER, VERSION],
    responses: jsonResponse('The version.', PLUGIN_VERSION_DETAILS_SHAPE),
    errors: [...QUERY_PARAMETER_ERRORS, 'plugin-not-found'],
  }),
  activate: declareOperation({
    id: 'activatePluginVersion',
    tag,
    summary: 'Activate another version of a plugin',
    parameters: [PLUGIN_NAME_PARAMETER, VERSION, IF_MATCH],
    responses: jsonResponse('The plugin.', PLUGIN_DETAILS_SHAPE, 200, ['ETag']),
    errors: [
      ...QUERY_PARAMETER_ERRORS,
      ...PRECONDITION_ERRORS,
      'plugin-not-found',
      'plugin-in-folder',
      'invalid-plugin',
    ],
  }),
  setSecret: declareOperation({
    id: 'setPluginSecret',
    tag,
    summary: 'Set a secret of a plugin',
    description: 'It is stored encrypted. No response contains it.',
    parameters: [PLUGIN_NAME_PARAMETER, SECRET],
    body: jsonBody(SECRET_BODY),
    responses: NO_CONTENT_RESPONSE,
    errors: [...VALIDATION_ERRORS, 'write-conflict', 'plugin-not-found', 'invalid-plugin'],
  }),
  removeSecret: declareOperation({
    id: 'deletePluginSecret',
    tag,
    summary: 'Delete a secret of a plugin',
    parameters: [PLUGIN_NAME_PARAMETER, SECRET],
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'write-conflict', 'plugin-not-found'],
  }),
  release: declareOperation({
    id: 'unquarantineFunction',
    tag,
    summary: 'Release a function from quarantine',
    parameters: [PLUGIN_NAME_PARAMETER, FUNCTION_NAME_PARAMETER],
    responses: jsonResponse('The plugin.', PLUGIN_DETAILS_SHAPE, 200, ['ETag']),
    errors: [...QUERY_PARAMETER_ERRORS, 'write-conflict', 'plugin-not-found', 'function-not-found'],
  }),
};

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
  const changeOf = (request: FastifyRequest<OnPlugin>, action: ResourceAction): PluginChangeRequest => ({
    name: request.params.name,
    stamp: stampFromPrincipal(enter(request, action), request.id),
    condition: parseVersionPrecondition(request.headers),
  });
  const send = async (reply: FastifyReply, name: string) => {
    const { plugin, tag } = await shown.one(name);
    return reply.header('etag', versionTag(tag)).send(plugin);
  };

  app.get(URL, { config: PLUGIN_OPERATIONS.list }, async (request) => {
    enter(request, 'read');
    return shown.list();
  });

  app.get<OnPlugin>(`${URL}/:name`, { config: PLUGIN_OPERATIONS.get }, async (request, reply) => {
    enter(request, 'read');
    return send(reply, request.params.name);
  });

  app.put<OnPlugin>(`${URL}/:name`, { config: PLUGIN_OPERATIONS.put }, async (request, reply) => {
    const change = changeOf(request, 'update');
    requireMediaType(request, ['application/json']);
    const readsUsers = policies.find(request.principal, 'read', '_admin:accounts') !== null;
    const isNew = await plugins.put(requireBody(request), change, readsUsers);
    return send(isNew ? reply.code(201).header('location', `${URL}/${change.name}`) : reply, change.name);
  });

  app.patch<OnPlugin>(`${URL}/:name`, { config: PLUGIN_OPERATIONS.patch }, async (request, reply) => {
    const change = changeOf(request, 'update');
    requireMediaType(request, ['application/merge-patch+json', 'application/json']);
    await plugins.patch(requireBody(request), change);
    return send(reply, change.name);
  });

  app.delete<OnPlugin>(`${URL}/:name`, { config: PLUGIN_OPERATIONS.remove }, async (request, reply) => {
    await plugins.remove(changeOf(request, 'delete'));
    return reply.code(204).send();
  });

  app.get<OnPlugin>(`${URL}/:name/versions`, { config: PLUGIN_OPERATIONS.versions }, async (request) => {
    enter(request, 'read');
    return shown.versions(request.params.name);
  });

  app.get<OnVersion>(`${URL}/:name/versions/:version`, { config: PLUGIN_OPERATIONS.version }, async (request) => {
    enter(request, 'read');
    return shown.version(request.params.name, versionOf(request));
  });

  app.post<OnVersion>(
    `${URL}/:name/versions/:version/activate`,
    { config: PLUGIN_OPERATIONS.activate },
    async (request, reply) => {
      const change = changeOf(request, 'update');
      await plugins.activate(versionOf(request), change);
      return send(reply, change.name);
    },
  );

  app.put<OnSecret>(`${URL}/:name/secrets/:secret`, { config: PLUGIN_OPERATIONS.setSecret }, async (request, reply) => {
    const change = changeOf(request, 'update');
    requireMediaType(request, ['application/json']);
    await plugins.setSecret(request.params.secret, requireBody(request), change);
    return reply.code(204).send();
  });

  app.delete<OnSecret>(
    `${URL}/:name/secrets/:secret`,
    { config: PLUGIN_OPERATIONS.removeSecret },
    async (request, reply) => {
      await plugins.removeSecret(request.params.secret, changeOf(request, 'update'));
      return reply.code(204).send();
    },
  );

  app.post<OnFunction>(
    `${URL}/:name/functions/:functionName/unquarantine`,
    { config: PLUGIN_OPERATIONS.release },
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
