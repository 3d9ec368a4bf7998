/** The operations on plugins as the contract describes them. Not here: the routes (plugin-routes.ts). */
import {
  ASKED_ERRORS,
  answer,
  CHECKED_ERRORS,
  CONDITIONAL_ERRORS,
  DONE,
  jsonBody,
  operation,
} from '../../contract/operation.ts';
import { IF_MATCH, IF_NONE_MATCH, pathParameter } from '../../contract/parameters.ts';
import { listOf } from '../../contract/schema.ts';
import { PLUGIN_BODY, PLUGIN_PATCH, SECRET_BODY } from '../plugins/plugin-body.ts';
import { PLUGIN_SHAPE, PLUGIN_VERSION_SHAPE, WHOLE_PLUGIN_SHAPE, WHOLE_VERSION_SHAPE } from './plugin-shapes.ts';

const tag = 'Functions';

const NAME = pathParameter('name', 'Name of the plugin.', { type: 'string', minLength: 1, maxLength: 40 });
const VERSION = pathParameter('version', 'The number of a version.', { type: 'integer', minimum: 1 });
const SECRET = pathParameter('secret', 'Name of the secret.', { type: 'string', minLength: 1, maxLength: 64 });
const FUNCTION = pathParameter('function', 'Name of the function.', { type: 'string', minLength: 1, maxLength: 40 });

export const PLUGIN_OPERATIONS = {
  list: operation({
    id: 'plugins.list',
    tag,
    summary: 'List plugins and their functions',
    answers: answer('All plugins, in the order of their names.', listOf(PLUGIN_SHAPE)),
    errors: ASKED_ERRORS,
  }),
  get: operation({
    id: 'plugins.get',
    tag,
    summary: 'Get a plugin with its manifest and scripts',
    parameters: [NAME],
    answers: answer('The plugin.', WHOLE_PLUGIN_SHAPE, 200, ['ETag']),
    errors: [...ASKED_ERRORS, 'plugin-not-found'],
  }),
  put: operation({
    id: 'plugins.put',
    tag,
    summary: 'Store a version of a plugin and put it in force',
    description:
      'In every process within a second. A version with a fault is refused, and the one before stays in force. A trigger of ' +
      'accounts, keys or settings needs the right to read those.',
    parameters: [NAME, IF_MATCH, IF_NONE_MATCH],
    body: jsonBody(PLUGIN_BODY),
    answers: {
      ...answer('The plugin, which has a new version.', WHOLE_PLUGIN_SHAPE, 200, ['ETag']),
      ...answer('The plugin, which is new.', WHOLE_PLUGIN_SHAPE, 201, ['Location', 'ETag']),
    },
    errors: [...CHECKED_ERRORS, ...CONDITIONAL_ERRORS, 'invalid-plugin', 'too-many-plugins', 'plugin-in-folder'],
  }),
  patch: operation({
    id: 'plugins.patch',
    tag,
    summary: 'Switch a plugin off or on',
    parameters: [NAME, IF_MATCH],
    body: { 'application/merge-patch+json': PLUGIN_PATCH, 'application/json': PLUGIN_PATCH },
    answers: answer('The plugin.', WHOLE_PLUGIN_SHAPE, 200, ['ETag']),
    errors: [...CHECKED_ERRORS, ...CONDITIONAL_ERRORS, 'plugin-not-found'],
  }),
  remove: operation({
    id: 'plugins.remove',
    tag,
    summary: 'Remove a plugin with its versions and secrets',
    parameters: [NAME, IF_MATCH],
    answers: { 204: { description: 'Removed. Its runs stay.' } },
    errors: [...ASKED_ERRORS, ...CONDITIONAL_ERRORS, 'plugin-not-found', 'plugin-in-folder'],
  }),
  versions: operation({
    id: 'plugins.versions.list',
    tag,
    summary: 'List the versions of a plugin that are kept',
    parameters: [NAME],
    answers: answer('The last 100, the newest first.', listOf(PLUGIN_VERSION_SHAPE)),
    errors: [...ASKED_ERRORS, 'plugin-not-found'],
  }),
  version: operation({
    id: 'plugins.versions.get',
    tag,
    summary: 'Get a version of a plugin with its manifest and scripts',
    parameters: [NAME, VERSION],
    answers: answer('The version.', WHOLE_VERSION_SHAPE),
    errors: [...ASKED_ERRORS, 'plugin-not-found'],
  }),
  activate: operation({
    id: 'plugins.versions.activate',
    tag,
    summary: 'Put another version of a plugin in force',
    parameters: [NAME, VERSION, IF_MATCH],
    answers: answer('The plugin.', WHOLE_PLUGIN_SHAPE, 200, ['ETag']),
    errors: [...ASKED_ERRORS, ...CONDITIONAL_ERRORS, 'plugin-not-found', 'plugin-in-folder', 'invalid-plugin'],
  }),
  setSecret: operation({
    id: 'plugins.secrets.put',
    tag,
    summary: 'Set a secret of a plugin',
    description: 'It is kept encrypted. No answer shows it.',
    parameters: [NAME, SECRET],
    body: jsonBody(SECRET_BODY),
    answers: DONE,
    errors: [...CHECKED_ERRORS, 'contention', 'plugin-not-found', 'invalid-plugin'],
  }),
  removeSecret: operation({
    id: 'plugins.secrets.remove',
    tag,
    summary: 'Remove a secret of a plugin',
    parameters: [NAME, SECRET],
    answers: DONE,
    errors: [...ASKED_ERRORS, 'contention', 'plugin-not-found'],
  }),
  release: operation({
    id: 'plugins.functions.release',
    tag,
    summary: 'Let a function in quarantine run again',
    parameters: [NAME, FUNCTION],
    answers: answer('The plugin.', WHOLE_PLUGIN_SHAPE, 200, ['ETag']),
    errors: [...ASKED_ERRORS, 'contention', 'plugin-not-found', 'function-not-found'],
  }),
};
