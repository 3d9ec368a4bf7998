/**
 * A process that takes the place of the one that runs the code of functions, and answers each call with a constant through the
 * same pipe: the lower limit for functions in a separate process. `use-constant-runner.ts` puts it in its place.
 */
import { Socket } from 'node:net';
import { FrameReader, FrameWriter } from '../src/functions/sandbox/wire/frames.ts';
import { RUNNER_PIPE_FD, type ServerMessage } from '../src/functions/sandbox/wire/messages.ts';

const VALUE = '{"hello":"world"}';

const pipe = new Socket({ fd: RUNNER_PIPE_FD, readable: true, writable: true });
const writer = new FrameWriter((bytes) => pipe.write(bytes));
const reader = new FrameReader(2 ** 25, ({ head }) => {
  const message = head as ServerMessage;
  if (message.type === 'check') writer.send({ type: 'checked', check: message.check, issues: [] });
  if (message.type !== 'call') return;
  writer.send({ type: 'result', call: message.call, cpuMs: 0, outcome: { kind: 'value' } }, VALUE);
});
pipe.on('data', (chunk: Buffer) => reader.push(chunk));
for (const event of ['end', 'close', 'error']) pipe.on(event, () => process.exit());
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
writer.send({ type: 'ready' });
