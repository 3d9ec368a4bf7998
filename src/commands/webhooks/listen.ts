/**
 * `millrace webhooks listen`: a receiver on this machine and an endpoint that leads to it, for as long as the command runs.
 * Each delivery is verified and shown, and sent on to another program if that is asked for.
 */
import Type from 'typebox';
import { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { EVERYWHERE, Refused, type Remote } from '../remote/remote.ts';
import { faultOf, idOf, lineOf, wholeOf } from './judgement.ts';
import { openReceiver, type ReceivedCall, type Receiver, type Reply } from './receiver.ts';

export interface ListenOptions {
  readonly port: number;
  readonly types: readonly string[];
  readonly filter: object | null;
  /** The secret to sign with; undefined for a new one. */
  readonly secret: string | undefined;
  /** Where each delivery is sent on to; undefined for nowhere. */
  readonly forward: string | undefined;
  readonly verbose: boolean;
}

/** The name by which the endpoints of this command are recognised. */
const NAME = 'millrace webhooks listen';
const PATH = '/webhooks/endpoints';
const MADE = Type.Object({ id: Type.String(), secret: Type.String() });
const LISTED = Type.Array(Type.Object({ id: Type.String(), url: Type.String(), name: Type.Unknown() }));
/** So many ids are remembered, to tell a delivery that comes again. */
const MAX_KNOWN = 10_000;

/**
 * Runs until the signal.
 * @returns false when the endpoint could not be removed
 * @throws Error when the receiver or the endpoint cannot be made
 */
export async function listen(options: ListenOptions, remote: Remote, stop: AbortSignal): Promise<boolean> {
  const { port, types, forward } = options;
  const secret = Promise.withResolvers<string>();
  const egress = new Egress(EVERYWHERE);
  const receiver = await openReceiver(port, receiving(options, secret.promise, egress));
  try {
    const made = await makeEndpoint(options, receiver, remote);
    secret.resolve(made.secret);
    const onward = forward === undefined ? '' : `, sends on to ${forward}`;
    console.log(`Listening at ${receiver.url} for ${types.join(', ')}${onward}`);
    if (forward !== undefined) console.log(`The secret is ${made.secret}`);
    console.log(`The endpoint is ${made.id}. Ctrl-C removes it.\n`);
    await ended(stop);
    return await remove(made.id, remote);
  } finally {
    await receiver.close();
    await egress.close();
  }
}

async function makeEndpoint({ types, filter, secret }: ListenOptions, { url }: Receiver, remote: Remote) {
  // Left by a run that was killed: only one program can listen at this port, and that is this one.
  for (const { id, ...left } of await remote.ask(LISTED, 'GET', PATH)) {
    if (left.url === url && left.name === NAME) await remote.tell('DELETE', `${PATH}/${id}`);
  }
  try {
    const body = { url, types, name: NAME, ...(filter && { filter }), ...(secret !== undefined && { secret }) };
    return await remote.ask(MADE, 'POST', PATH, body);
  } catch (error) {
    if (!(error instanceof Refused && error.faults.some(({ pointer }) => pointer === '/url'))) throw error;
    const way = 'To let Millrace send to this machine, start it with MILLRACE_EGRESS_ALLOW=127.0.0.1';
    throw new Error(`${error.message}\n${way}`);
  }
}

/** Judges, sends on and shows each call. */
function receiving({ forward, verbose }: ListenOptions, secret: Promise<string>, egress: Egress) {
  const known = new Set<string>();
  return async (call: ReceivedCall): Promise<Reply> => {
    const fault = faultOf(call, await secret, Date.now());
    const id = idOf(call);
    const again = known.has(id);
    const reply = fault !== null ? { status: 400 } : await onward(call, forward, egress);
    if (fault === null) remember(known, id);
    const line = lineOf({ call, reply, fault, again, at: new Date() });
    console.log(verbose ? `${line}\n${wholeOf(call)}\n` : line);
    return reply;
  };
}

function remember(known: Set<string>, id: string): void {
  known.add(id);
  const [oldest = ''] = known;
  if (known.size > MAX_KNOWN) known.delete(oldest);
}

/** The reply to a genuine delivery: that of the program to which it is sent on, if there is one. */
async function onward({ headers, body }: ReceivedCall, url: string | undefined, egress: Egress): Promise<Reply> {
  if (url === undefined) return { status: 204 };
  try {
    const { host, connection, 'content-length': length, 'transfer-encoding': coding, ...sent } = headers;
    const answer = await egress.fetch(url, { method: 'POST', headers: sent, body, redirect: 'manual' });
    const after = answer.headers.get('retry-after');
    return { status: answer.status, body: await answer.text(), ...(after && { headers: { 'retry-after': after } }) };
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    console.log(`${error.message}: start your program, and the delivery comes again`);
    return { status: 502 };
  }
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function remove(id: string, remote: Remote): Promise<boolean> {
  try {
    await remote.tell('DELETE', `${PATH}/${id}`);
    console.log(`\nThe endpoint ${id} is removed`);
    return true;
  } catch (error) {
    if (error instanceof Refused && error.status === 404) {
      console.log(`\nThe endpoint ${id} was removed by somebody else`);
      return true;
    }
    const why = error instanceof Error ? error.message : String(error);
    console.error(
      `\nThe endpoint ${id} is still there. ${why}\nThe next run at this port removes it, or DELETE ${PATH}/${id}`,
    );
    return false;
  }
}
