/** Errors in a plugin: located in its manifest, or in one of its scripts. Pure. */
import { join } from 'node:path';
import { type Issue, MillraceError } from '../../../lib/errors.ts';
import type { BundleError } from '../../sandbox/sandbox.ts';

export interface ManifestDiagnostic {
  /** JSON Pointer into the manifest (RFC 6901). */
  readonly pointer: string;
  readonly message: string;
}

export type PluginDiagnostic = ManifestDiagnostic | BundleError;

/** Maximum errors in one response. */
const MAX_REPORTED = 20;

/**
 * The error as one line of text: `total.ts:3:14: Expression expected`, `plugin.json /functions/0/cron: …`.
 * @param folder path of the plugin, put before its file names, so that terminals can open them
 */
export function formatDiagnostic(diagnostic: PluginDiagnostic, folder = ''): string {
  if ('pointer' in diagnostic)
    return `${join(folder, 'plugin.json')} ${diagnostic.pointer || '/'}: ${diagnostic.message}`;
  const { file, line, column, message } = diagnostic;
  return `${join(folder, file)}${line === null ? '' : `:${line}${column === null ? '' : `:${column}`}`}: ${message}`;
}

/** The error response for a plugin that was sent as `{manifest, files}`. */
export function invalidPluginError(diagnostics: readonly PluginDiagnostic[]): MillraceError {
  const [first] = diagnostics;
  const reported = first === undefined ? 'unknown reason' : formatDiagnostic(first);
  return new MillraceError('invalid-plugin', `The plugin is not valid: ${reported}`, {
    issues: diagnostics.slice(0, MAX_REPORTED).map(toIssue),
  });
}

function toIssue(diagnostic: PluginDiagnostic): Issue {
  const code = 'invalid-plugin';
  if ('pointer' in diagnostic) return { pointer: `/manifest${diagnostic.pointer}`, code, detail: diagnostic.message };
  const { file, line, column, message: detail } = diagnostic;
  const pointer = `/files/${file.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  return { pointer, code, detail, file, ...(line === null ? {} : { line }), ...(column === null ? {} : { column }) };
}
