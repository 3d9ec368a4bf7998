/**
 * The runner: a separate process in which the code of functions runs, started and ended by the server. It has one pipe, an empty
 * environment, and may read only its own files.
 */
import { Socket } from 'node:net';
import { MAX_OPERATION_BASE64_BYTES } from '../host-schemas.ts';
import { FrameReader, FrameWriter } from '../wire/frames.ts';
import { RUNNER_PIPE_FD, type ServerMessage } from '../wire/messages.ts';
import { checkBundleCompiles } from './check-bundle.ts';
import { IsolatePool } from './isolates.ts';
import type { BundleFiles } from './modules.ts';
import { RunnerCall } from './runner-call.ts';

/** The longest frames contain the files of a bundle, or the result of an operation. */
const MAX_FRAME_BYTES = 4 * MAX_OPERATION_BASE64_BYTES;

const pipe = new Socket({ fd: RUNNER_PIPE_FD, readable: true, writable: true });
const writer = new FrameWriter((bytes) => pipe.write(bytes));
const send = (head: object, body?: string) => writer.send(head, body);
const isolates = new IsolatePool(send);
const bundles = new Map<string, BundleFiles>();
const calls = new Map<string, RunnerCall>();

/** Exits immediately, whatever threads still do: a runner never outlives its server. */
const die = () => process.kill(process.pid, 'SIGKILL');
pipe.on('end', die);
pipe.on('close', die);
pipe.on('error', die);

// Ctrl-C and a service stop reach all processes. The server ends the runner when its calls have ended.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

function take(message: ServerMessage, body: string): void {
  switch (message.type) {
    case 'load':
      bundles.set(message.bundle, new Map(JSON.parse(body) as [string, string][]));
      break;
    case 'drop':
      bundles.delete(message.bundle);
      isolates.drop(message.bundle);
      break;
    case 'call':
      begin(message, body);
      break;
    case 'answer':
      calls.get(message.call)?.response(message.number, message.ok, body);
      break;
    case 'check':
      checkBundleCompiles(bundles.get(message.bundle) ?? new Map(), message.entries).then(
        (issues) => send({ type: 'checked', check: message.check, issues }),
        () => send({ type: 'checked', check: message.check, issues: [UNKNOWN_ISSUE] }),
      );
      break;
  }
}

const UNKNOWN_ISSUE = { file: '', line: null, column: null, message: 'The bundle cannot be compiled' };

function begin(message: Extract<ServerMessage, { type: 'call' }>, input: string): void {
  const call = new RunnerCall(message, input, (head, body) => {
    if ('type' in head && head.type === 'result') calls.delete(message.call);
    send(head, body);
  });
  calls.set(message.call, call);
  isolates.call(call, message.bundle, bundles.get(message.bundle) ?? new Map());
}

const reader = new FrameReader(MAX_FRAME_BYTES, ({ head, body }) => take(head as ServerMessage, body));
pipe.on('data', (chunk: Buffer) => reader.push(chunk));
send({ type: 'ready' });
