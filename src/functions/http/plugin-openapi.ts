/** OpenAPI operations of plugins. */
import {
  CHECKED_ERRORS,
  CONDITIONAL_ERRORS,
  DONE,
  jsonBody,
  operation,
  REQUEST_ERRORS,
  response,
} from '../../openapi/operation.ts';
import { IF_MATCH, IF_NONE_MATCH, pathParameter } from '../../openapi/parameters.ts';
import { listOf, shape } from '../../openapi/schema.ts';
import { PLUGIN_BODY, PLUGIN_PATCH, SECRET_BODY } from '../plugins/plugin-body.ts';
import { PLUGIN_SHAPE, PLUGIN_VERSION_SHAPE, WHOLE_PLUGIN_SHAPE, WHOLE_VERSION_SHAPE } from './plugin-schemas.ts';

const tag = 'functions';

export const PLUGIN_NAME = pathParameter(
  'name',
  'Name of the plugin.',
  { type: 'string', minLength: 1, maxLength: 40 },
  'pluginName',
);
const PATCH = shape('PluginPatch', PLUGIN_PATCH);
const VERSION = pathParameter('version', 'The number of a version.', { type: 'integer', minimum: 1 });
const SECRET = pathParameter('secret', 'Name of the secret.', { type: 'string', minLength: 1, maxLength: 64 });
export const FUNCTION_NAME = pathParameter(
  'functionName',
  'Name of the function.',
  { type: 'string', minLength: 1, maxLength: 40 },
  'pluginFunction',
);

export const PLUGIN_OPERATIONS = {
  list: operation({
    id: 'listPlugins',
    tag,
    summary: 'List plugins and their functions',
    responses: response('All plugins, in the order of their names.', listOf(PLUGIN_SHAPE)),
    errors: REQUEST_ERRORS,
  }),
  get: operation({
    id: 'getPlugin',
    tag,
    summary: 'Get a plugin with its manifest and scripts',
    parameters: [PLUGIN_NAME],
    responses: response('The plugin.', WHOLE_PLUGIN_SHAPE, 200, ['ETag']),
    errors: [...REQUEST_ERRORS, 'plugin-not-found'],
  }),
  put: operation({
    id: 'replacePlugin',
    tag,
    summary: 'Store and activate a version of a plugin',
    description:
      'It is active in every process within a second. An invalid version is rejected, and the previous one stays active. ' +
      'Triggers for events of users, keys or settings require the right to read those.',
    parameters: [PLUGIN_NAME, IF_MATCH, IF_NONE_MATCH],
    body: jsonBody(PLUGIN_BODY),
    responses: {
      ...response('The plugin with its new version.', WHOLE_PLUGIN_SHAPE, 200, ['ETag']),
      ...response('The new plugin.', WHOLE_PLUGIN_SHAPE, 201, ['Location', 'ETag']),
    },
    errors: [...CHECKED_ERRORS, ...CONDITIONAL_ERRORS, 'invalid-plugin', 'too-many-plugins', 'plugin-in-folder'],
  }),
  patch: operation({
    id: 'updatePlugin',
    tag,
    summary: 'Enable or disable a plugin',
    parameters: [PLUGIN_NAME, IF_MATCH],
    body: { 'application/merge-patch+json': PATCH, 'application/json': PATCH },
    responses: response('The plugin.', WHOLE_PLUGIN_SHAPE, 200, ['ETag']),
    errors: [...CHECKED_ERRORS, ...CONDITIONAL_ERRORS, 'plugin-not-found'],
  }),
  remove: operation({
    id: 'deletePlugin',
    tag,
    summary: 'Delete a plugin with its versions and secrets',
    parameters: [PLUGIN_NAME, IF_MATCH],
    responses: { 204: { description: 'Deleted. Its runs are kept.' } },
    errors: [...REQUEST_ERRORS, ...CONDITIONAL_ERRORS, 'plugin-not-found', 'plugin-in-folder'],
  }),
  versions: operation({
    id: 'listPluginVersions',
    tag,
    summary: 'List the stored versions of a plugin',
    parameters: [PLUGIN_NAME],
    responses: response('The last 100, the newest first.', listOf(PLUGIN_VERSION_SHAPE)),
    errors: [...REQUEST_ERRORS, 'plugin-not-found'],
  }),
  version: operation({
    id: 'getPluginVersion',
    tag,
    summary: 'Get a version of a plugin with its manifest and scripts',
    parameters: [PLUGIN_NAME, VERSION],
    responses: response('The version.', WHOLE_VERSION_SHAPE),
    errors: [...REQUEST_ERRORS, 'plugin-not-found'],
  }),
  activate: operation({
    id: 'activatePluginVersion',
    tag,
    summary: 'Activate another version of a plugin',
    parameters: [PLUGIN_NAME, VERSION, IF_MATCH],
    responses: response('The plugin.', WHOLE_PLUGIN_SHAPE, 200, ['ETag']),
    errors: [...REQUEST_ERRORS, ...CONDITIONAL_ERRORS, 'plugin-not-found', 'plugin-in-folder', 'invalid-plugin'],
  }),
  setSecret: operation({
    id: 'setPluginSecret',
    tag,
    summary: 'Set a secret of a plugin',
    description: 'It is stored encrypted. No response contains it.',
    parameters: [PLUGIN_NAME, SECRET],
    body: jsonBody(SECRET_BODY),
    responses: DONE,
    errors: [...CHECKED_ERRORS, 'write-conflict', 'plugin-not-found', 'invalid-plugin'],
  }),
  removeSecret: operation({
    id: 'deletePluginSecret',
    tag,
    summary: 'Delete a secret of a plugin',
    parameters: [PLUGIN_NAME, SECRET],
    responses: DONE,
    errors: [...REQUEST_ERRORS, 'write-conflict', 'plugin-not-found'],
  }),
  release: operation({
    id: 'unquarantineFunction',
    tag,
    summary: 'Release a function from quarantine',
    parameters: [PLUGIN_NAME, FUNCTION_NAME],
    responses: response('The plugin.', WHOLE_PLUGIN_SHAPE, 200, ['ETag']),
    errors: [...REQUEST_ERRORS, 'write-conflict', 'plugin-not-found', 'function-not-found'],
  }),
};
