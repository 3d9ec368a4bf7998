/**
 * `millrace webhooks listen`: a local receiver with an endpoint that points to it, while the command runs. Each delivery is
 * verified and shown, and optionally forwarded to another program.
 */
import Type from 'typebox';
import { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { type RemoteServer, ServerErrorResponse, UNRESTRICTED_EGRESS } from '../remote/remote.ts';
import { type ReceivedWebhook, startWebhookReceiver, type WebhookReceiver, type WebhookReply } from './receiver.ts';
import { findDeliveryIssue, formatDeliveryDetails, formatDeliveryLine, readDeliveryId } from './verify-delivery.ts';

export interface ListenOptions {
  readonly port: number;
  readonly types: readonly string[];
  readonly filter: object | null;
  /** The signing secret; undefined for a new one. */
  readonly secret: string | undefined;
  /** The URL to forward deliveries to; undefined for none. */
  readonly forward: string | undefined;
  readonly verbose: boolean;
}

/** The name by which the endpoints of this command are recognized. */
const NAME = 'millrace webhooks listen';
const PATH = '/webhooks/endpoints';
const CREATED = Type.Object({ id: Type.String(), secret: Type.String() });
const LISTED = Type.Array(Type.Object({ id: Type.String(), url: Type.String(), name: Type.Unknown() }));
/** Number of remembered ids, to recognize repeated deliveries. */
const MAX_KNOWN = 10_000;

/**
 * Runs until the signal.
 * @returns false if the endpoint could not be removed
 * @throws Error when the receiver or the endpoint cannot be created
 */
export async function listenForWebhooks(
  options: ListenOptions,
  remote: RemoteServer,
  stop: AbortSignal,
): Promise<boolean> {
  const { port, types, forward } = options;
  const secret = Promise.withResolvers<string>();
  const egress = new Egress(UNRESTRICTED_EGRESS);
  const receiver = await startWebhookReceiver(port, receiving(options, secret.promise, egress));
  try {
    const created = await makeEndpoint(options, receiver, remote);
    secret.resolve(created.secret);
    const onward = forward === undefined ? '' : `, forwarding to ${forward}`;
    console.log(`Listening at ${receiver.url} for ${types.join(', ')}${onward}`);
    if (forward !== undefined) console.log(`Secret: ${created.secret}`);
    console.log(`Endpoint: ${created.id}. Press Ctrl-C to remove it.\n`);
    await ended(stop);
    return await remove(created.id, remote);
  } finally {
    await receiver.close();
    await egress.close();
  }
}

async function makeEndpoint({ types, filter, secret }: ListenOptions, { url }: WebhookReceiver, remote: RemoteServer) {
  // Left by a killed run: only one program can listen on this port, and that is this one.
  for (const { id, ...left } of await remote.request(LISTED, 'GET', PATH)) {
    if (left.url === url && left.name === NAME) await remote.requestNoContent('DELETE', `${PATH}/${id}`);
  }
  try {
    const body = { url, types, name: NAME, ...(filter && { filter }), ...(secret !== undefined && { secret }) };
    return await remote.request(CREATED, 'POST', PATH, body);
  } catch (error) {
    if (!(error instanceof ServerErrorResponse && error.issues.some(({ pointer }) => pointer === '/url'))) throw error;
    const way = 'To let Millrace send to this machine, start it with MILLRACE_EGRESS_ALLOW=127.0.0.1';
    throw new Error(`${error.message}\n${way}`);
  }
}

/** Verifies, forwards and shows each call. */
function receiving({ forward, verbose }: ListenOptions, secret: Promise<string>, egress: Egress) {
  const known = new Set<string>();
  return async (call: ReceivedWebhook): Promise<WebhookReply> => {
    const issue = findDeliveryIssue(call, await secret, Date.now());
    const id = readDeliveryId(call);
    const again = known.has(id);
    const reply = issue !== null ? { status: 400 } : await onward(call, forward, egress);
    if (issue === null) remember(known, id);
    const line = formatDeliveryLine({ call, reply, issue, isRepeated: again, at: new Date() });
    console.log(verbose ? `${line}\n${formatDeliveryDetails(call)}\n` : line);
    return reply;
  };
}

function remember(known: Set<string>, id: string): void {
  known.add(id);
  const [oldest = ''] = known;
  if (known.size > MAX_KNOWN) known.delete(oldest);
}

/** The response to a genuine delivery: that of the program to which it is forwarded, if there is one. */
async function onward(
  { headers, body }: ReceivedWebhook,
  url: string | undefined,
  egress: Egress,
): Promise<WebhookReply> {
  if (url === undefined) return { status: 204 };
  try {
    const { host, connection, 'content-length': length, 'transfer-encoding': coding, ...sent } = headers;
    const response = await egress.fetch(url, { method: 'POST', headers: sent, body, redirect: 'manual' });
    const after = response.headers.get('retry-after');
    return {
      status: response.status,
      body: await response.text(),
      ...(after && { headers: { 'retry-after': after } }),
    };
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    console.log(`${error.message}: start your program, and the delivery is retried`);
    return { status: 502 };
  }
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function remove(id: string, remote: RemoteServer): Promise<boolean> {
  try {
    await remote.requestNoContent('DELETE', `${PATH}/${id}`);
    console.log(`\nRemoved the endpoint ${id}`);
    return true;
  } catch (error) {
    if (error instanceof ServerErrorResponse && error.status === 404) {
      console.log(`\nThe endpoint ${id} had already been removed`);
      return true;
    }
    const why = error instanceof Error ? error.message : String(error);
    console.error(
      `\nThe endpoint ${id} was not removed. ${why}\nThe next run on this port removes it, or DELETE ${PATH}/${id}`,
    );
    return false;
  }
}
