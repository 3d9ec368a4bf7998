/**
 * What is wrong with a plugin: a place in its manifest, or in one of its scripts. Pure. Not here: what is wrong when
 * (manifest-rules.ts, compile/).
 */
import { join } from 'node:path';
import { type Fault, MillraceError } from '../../../kernel/errors.ts';
import type { BundleFault } from '../../sandbox/sandbox.ts';

export interface ManifestFault {
  /** Into the manifest (RFC 6901). */
  readonly pointer: string;
  readonly message: string;
}

export type PluginFault = ManifestFault | BundleFault;

/** Faults that one answer tells at most. */
const MAX_TOLD = 20;

/**
 * The fault as one line for people: `total.ts:3:14: Expression expected`, `plugin.json /functions/0/cron: …`.
 * @param folder the path of the plugin as it stands before its files, so that a terminal opens them
 */
export function faultLine(fault: PluginFault, folder = ''): string {
  if ('pointer' in fault) return `${join(folder, 'plugin.json')} ${fault.pointer || '/'}: ${fault.message}`;
  const { file, line, column, message } = fault;
  return `${join(folder, file)}${line === null ? '' : `:${line}${column === null ? '' : `:${column}`}`}: ${message}`;
}

/** The refusal of a plugin that was sent as `{manifest, files}`. */
export function invalidPlugin(faults: readonly PluginFault[]): MillraceError {
  const [first] = faults;
  const told = first === undefined ? 'nothing is known of why' : faultLine(first);
  return new MillraceError('invalid-plugin', `The plugin is not valid: ${told}`, {
    faults: faults.slice(0, MAX_TOLD).map(toFault),
  });
}

function toFault(fault: PluginFault): Fault {
  const code = 'invalid-plugin';
  if ('pointer' in fault) return { pointer: `/manifest${fault.pointer}`, code, detail: fault.message };
  const { file, line, column, message: detail } = fault;
  const pointer = `/files/${file.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  return { pointer, code, detail, file, ...(line === null ? {} : { line }), ...(column === null ? {} : { column }) };
}
