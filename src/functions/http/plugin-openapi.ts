/** OpenAPI operations of plugins. */
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
import { PLUGIN_BODY, PLUGIN_PATCH, SECRET_BODY } from '../plugins/plugin-body.ts';
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

export const PLUGIN_OPERATIONS = {
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
