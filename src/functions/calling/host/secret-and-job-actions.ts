/** Operations on the function's own plugin: sign with one of its secrets, and schedule one of its jobs. */
import { createHmac } from 'node:crypto';
import { MillraceError } from '../../../lib/errors.ts';
import type { PluginFunction } from '../../plugins/plugin.ts';
import type { ActionContext, HostActions } from './host-action.ts';
import type { JobScheduler } from './job-scheduler.ts';
import type { OperationArgument } from './operation-argument.ts';

/** The latest time of a job, in milliseconds from now. */
const FARTHEST_MS = 366 * 24 * 3_600_000;

const HEX = /^(?:[\da-f]{2})+$/i;
/** Accepts the URL-safe alphabet too. */
const BASE64 = /^[\w+/-]+={0,2}$/;

export interface JobSchedulingDeps {
  readonly jobs: JobScheduler;
  /** Depth of the run. */
  readonly depth: number;
  /** Whether the input of the run contains user data. */
  readonly restricted: boolean;
  readonly now: () => number;
}

export function pluginActions(
  { plugin }: PluginFunction,
  { request, within }: ActionContext,
  { jobs, depth, restricted, now }: JobSchedulingDeps,
): HostActions<'hmac' | 'schedule'> {
  async function hmac(argument: OperationArgument): Promise<string> {
    const name = argument.text('secret');
    const secret = Object.hasOwn(plugin.secrets, name) ? plugin.secrets[name] : undefined;
    if (secret === undefined) throw invalid(`The plugin has no secret '${name.slice(0, 80)}'`);
    const encoding = argument.optionalText('encoding') ?? 'hex';
    if (encoding !== 'hex' && encoding !== 'base64') throw invalid("'encoding' must be hex or base64");
    const key = keyOf(secret, argument.optionalText('key') ?? 'utf8');
    return JSON.stringify(createHmac('sha256', key).update(argument.text('text')).digest(encoding));
  }

  async function schedule(argument: OperationArgument): Promise<string> {
    const name = argument.text('name');
    const fn = jobOf(plugin.functions.find((one) => one.name === name));
    if (fn === null) {
      throw new MillraceError('function-not-found', `The plugin has no job '${name.slice(0, 80)}'`, {
        hint: 'A job is a function with "job": true in the manifest',
      });
    }
    const at = timeOf(argument, now());
    const input = JSON.stringify(argument.fields['input'] ?? null);
    const { id } = await jobs.schedule({ fn, input, at, depth, restricted, request }, within);
    return JSON.stringify({ id, at: at.toISOString() });
  }

  return {
    hmac: { writes: false, queue: 'free', target: ({ fields }) => String(fields['secret'] ?? ''), run: hmac },
    schedule: {
      writes: true,
      queue: 'documents',
      target: ({ fields }) => String(fields['name'] ?? ''),
      run: schedule,
    },
  };
}

/**
 * The bytes of a secret, written in UTF-8, hexadecimal, or base64 with or without the prefix `whsec_`.
 * @throws MillraceError `invalid-parameter`
 */
function keyOf(secret: string, encoding: string): Buffer {
  if (encoding === 'utf8') return Buffer.from(secret);
  if (encoding !== 'base64' && encoding !== 'hex') throw invalid("'key' must be utf8, base64 or hex");
  const text = encoding === 'base64' ? secret.trim().replace(/^whsec_/, '') : secret.trim();
  const isWritten = encoding === 'hex' ? HEX.test(text) : BASE64.test(text) && text.replace(/=+$/, '').length % 4 !== 1;
  if (!isWritten) throw invalid(`The secret is not valid ${encoding}`);
  return Buffer.from(text, encoding);
}

function jobOf(fn: PluginFunction | undefined): PluginFunction<'job'> | null {
  return fn?.options.kind === 'job' ? { ...fn, options: fn.options } : null;
}

/** @throws MillraceError `invalid-parameter` */
function timeOf(argument: OperationArgument, now: number): Date {
  const [after, at] = [argument.optionalNumber('after'), argument.optionalText('at')];
  if (after !== undefined && at !== undefined) throw invalid("Pass 'after' or 'at', not both");
  const time = at === undefined ? now + (after ?? 0) : Date.parse(at);
  if (Number.isNaN(time)) throw invalid("'at' must be a time in the form 2026-01-31T12:00:00Z");
  if (after !== undefined && after < 0) throw invalid("'after' must be milliseconds, 0 or more");
  if (time > now + FARTHEST_MS) throw invalid('The time is more than a year in the future');
  return new Date(Math.max(time, now));
}

function invalid(message: string): MillraceError {
  return new MillraceError('invalid-parameter', message);
}
