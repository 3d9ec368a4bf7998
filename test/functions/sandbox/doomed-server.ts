/** A server with a runner in which code is running: prints the process id of the runner, and waits to be killed. */
import { IsolateSandbox } from '../../../src/functions/sandbox/host/isolate-sandbox.ts';
import { callOf } from './calls.ts';

const sandbox = new IsolateSandbox({ onCrash: () => undefined });
await sandbox.call(
  callOf('export default async (input, ctx) => { ctx.documents("a").get("1"); };', { host: async () => 'null' }),
);
void sandbox.call(callOf('export default () => { for (;;); };', { limits: { wallMs: 60_000, cpuMs: 60_000 } }));
console.log(sandbox.pid);
