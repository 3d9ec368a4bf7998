/**
 * The script that every new context runs first, assembled from the source text of the functions of this folder. They are sent as
 * text because nothing of the runner may be reachable from inside.
 */
import {
  MAX_ARGUMENT_BYTES,
  MAX_CONCURRENT_OPERATIONS,
  MAX_FETCHES,
  MAX_HOST_OPERATIONS,
  MAX_LOG_BYTES,
  MAX_LOG_LINES,
  MAX_OPERATION_RESULT_BYTES,
} from '../host-schemas.ts';
import { makeBodyUtils } from './bodies.ts';
import { makeIsolateProgram, type ProgramLimits } from './bootstrap.ts';
import { makeFunctionContext } from './context.ts';
import { makeCryptoUtils } from './digests.ts';
import { makeEncodingUtils } from './encodings.ts';
import { makeOutcomeUtils } from './errors-and-response.ts';
import { makeHostBridge } from './host-bridge.ts';
import { makeStructuredClone } from './structured-clone.ts';
import { makeUrlClasses } from './urls.ts';
import { makeWebhookVerifier } from './webhooks.ts';

/** The name of the script in stack traces, by which its frames are removed. */
export const BOOT_SCRIPT_NAME = 'millrace:inside';

/** Timers per call. */
const MAX_TIMERS = 1_000;

const LIMITS: ProgramLimits = {
  operations: MAX_HOST_OPERATIONS,
  fetches: MAX_FETCHES,
  argumentBytes: MAX_ARGUMENT_BYTES,
  atOnce: MAX_CONCURRENT_OPERATIONS,
  timers: MAX_TIMERS,
  logLines: MAX_LOG_LINES,
  logCharacters: MAX_LOG_BYTES,
  resultBytes: MAX_OPERATION_RESULT_BYTES,
};

const PARTS = {
  makeUrlClasses,
  makeHostBridge,
  makeBodyUtils,
  makeStructuredClone,
  makeFunctionContext,
  makeCryptoUtils,
  makeEncodingUtils,
  makeOutcomeUtils,
  makeWebhookVerifier,
};

/** The global that holds the program in a new context until it is removed. */
const WAITING = 'millrace:program';

const WARMING = JSON.stringify({ kind: 'job', facts: { principal: {}, run: {}, secrets: {} } });

/** The start of every context. It runs once, and is kept as a snapshot. */
export const BOOT_SCRIPT = `'use strict';
{
  const scope = globalThis;
  const parts = {
${Object.entries(PARTS)
  .map(([name, part]) => `${name}: ${part},`)
  .join('\n')}
  };
  const makeIsolateProgram = ${makeIsolateProgram};
  let post = () => undefined;
  let address = null;
  const { lock, start, hostResult, woken } = makeIsolateProgram(
    scope,
    parts,
    (what, call, number, name, text) => post(what, call, number, name, text),
    (text, base, member, value) => address(text, base, member, value),
    ${JSON.stringify(LIMITS)},
  );
  // Called once for nothing: the snapshot keeps what V8 compiled for it.
  start(0, '${WARMING}', '{}', { default: () => undefined });
  scope['${WAITING}'] = (givenPost, givenAddress, seed) => {
    post = givenPost;
    address = givenAddress;
    lock(seed);
    return (what, call, a, b, c) => {
      if (what === 'start') start(call, a, b, c);
      else if (what === 'host-result') hostResult(call, a, b, c);
      else woken(call);
    };
  };
}`;

/**
 * Removes the program from a new context: a function that takes the two outgoing functions of the isolate and a seed of
 * random values, and returns the incoming one.
 */
export const EXTRACT_PROGRAM_SCRIPT = `(() => {
  const program = globalThis['${WAITING}'];
  delete globalThis['${WAITING}'];
  return program;
})()`;
