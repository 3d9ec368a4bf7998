/**
 * The hook of a trigger node: checked, created and removed when its workflow is activated and deactivated. Its id and its secret
 * are in the static data of the node, which n8n stores with the workflow.
 */
import { type IDataObject, type IHookFunctions, type IWebhookFunctions, NodeOperationError } from 'n8n-workflow';
import { collectionOf, jsonObject } from '../api/parameters';
import { requestJson, segment, send } from '../api/requests';

interface NewHook {
  readonly id: string;
  readonly secret: string;
}

interface HookView {
  readonly id: string;
  readonly event: string;
  readonly filter: object | null;
  readonly enabled: boolean;
}

/** The node's data of its hook. n8n keeps separate data for the test URL. */
function kept(node: IHookFunctions | IWebhookFunctions): { hookId?: string; secret?: string } {
  return node.getWorkflowStaticData('node');
}

/** The secret of the hook; undefined if there is none. */
export function secretOf(node: IWebhookFunctions): string | undefined {
  return kept(node).secret;
}

/** Whether the hook exists with the current parameters of the node. */
export async function hookExists(node: IHookFunctions): Promise<boolean> {
  const { hookId, secret } = kept(node);
  if (hookId === undefined || secret === undefined) return false;
  const { event, filter } = requested(node);
  const found = (await hooksOf(node)).find(({ id }) => id === hookId);
  return found?.enabled === true && found.event === event && same(found.filter ?? {}, filter);
}

/** Creates the hook. Earlier ones are removed first: each would deliver every event again. */
export async function createHook(node: IHookFunctions): Promise<void> {
  const { event, filter } = requested(node);
  for (const { id } of await hooksOf(node)) await remove(node, id);
  await deleteHook(node);
  const isFiltered = Object.keys(filter).length > 0;
  const body = JSON.stringify({ targetUrl: targetUrl(node), event, ...(isFiltered && { filter }) });
  const { id, secret } = (await requestJson(node, { method: 'POST', path: '/hooks', body })) as NewHook;
  Object.assign(kept(node), { hookId: id, secret });
}

/** Removes the hook. */
export async function deleteHook(node: IHookFunctions): Promise<void> {
  const data = kept(node);
  if (data.hookId !== undefined) await remove(node, data.hookId);
  delete data.hookId;
  delete data.secret;
}

function targetUrl(node: IHookFunctions): string {
  const url = node.getNodeWebhookUrl('default');
  if (url === undefined) throw new NodeOperationError(node.getNode(), 'n8n provides no webhook URL for this node');
  return url;
}

/** The event type and the filter from the parameters of the node. */
function requested(node: IHookFunctions): { event: string; filter: IDataObject } {
  const kind = String(node.getNodeParameter('event'));
  if (node.getNodeParameter('resource') === 'file') return { event: `system.file.${kind}`, filter: {} };
  const collection = segment(node, collectionOf(node), 'Collection');
  const filter = jsonObject(node, node.getNodeParameter('filter', '{}'), 'Filter');
  return { event: `${collection}.${kind}`, filter };
}

/** All hooks for the URL of the node, which is unique. */
async function hooksOf(node: IHookFunctions): Promise<readonly HookView[]> {
  return (await requestJson(node, {
    method: 'GET',
    path: '/hooks',
    query: { targetUrl: targetUrl(node) },
  })) as HookView[];
}

/** Removes a hook. A missing one is not an error. */
async function remove(node: IHookFunctions, id: string): Promise<void> {
  await send(node, { method: 'DELETE', path: `/hooks/${segment(node, id, 'The id of the hook')}`, accepted: 404 });
}

function same(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
