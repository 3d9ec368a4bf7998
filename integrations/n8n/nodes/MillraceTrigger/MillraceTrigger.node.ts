/** The Millrace Trigger node: starts a workflow when a document or a file changes. */
import {
  type IHookFunctions,
  type INodeType,
  type INodeTypeDescription,
  type IWebhookFunctions,
  type IWebhookResponseData,
  NodeConnectionTypes,
} from 'n8n-workflow';
import { COLLECTION, searchCollections } from '../api/parameters';
import { createHook, deleteHook, hookExists, secretOf } from './hooks';
import { isGenuine } from './signature';

export class MillraceTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Millrace Trigger',
    name: 'millraceTrigger',
    icon: { light: 'file:../../icons/millrace.svg', dark: 'file:../../icons/millrace.dark.svg' },
    group: ['trigger'],
    version: 1,
    subtitle: '={{ $parameter["event"] }}',
    description: 'Starts the workflow when a document or a file of Millrace changes',
    defaults: { name: 'Millrace Trigger' },
    inputs: [],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'millraceApi', required: true }],
    webhooks: [{ name: 'default', httpMethod: 'POST', responseMode: 'onReceived', path: 'webhook' }],
    properties: [
      {
        displayName: 'Resource',
        name: 'resource',
        type: 'options',
        noDataExpression: true,
        options: [
          { name: 'Document', value: 'document' },
          { name: 'File', value: 'file' },
        ],
        default: 'document',
      },
      { ...COLLECTION, displayOptions: { show: { resource: ['document'] } } },
      {
        displayName: 'Event',
        name: 'event',
        type: 'options',
        options: [
          { name: 'Any', value: '*', description: 'One of the other events' },
          { name: 'Created', value: 'created', description: 'A document or file was created' },
          { name: 'Deleted', value: 'deleted', description: 'One is gone' },
          { name: 'Updated', value: 'updated', description: 'A document or file was changed' },
        ],
        default: 'created',
        required: true,
        description: 'The event that starts the workflow',
      },
      {
        displayName: 'Filter',
        name: 'filter',
        type: 'json',
        default: '{}',
        displayOptions: { show: { resource: ['document'] } },
        description:
          'Only documents that match, as JSON: {"status": "paid"}. The filter is applied to the document before and after the change.',
      },
    ],
  };

  methods = { listSearch: { searchCollections } };

  webhookMethods = {
    default: {
      async checkExists(this: IHookFunctions): Promise<boolean> {
        return hookExists(this);
      },
      async create(this: IHookFunctions): Promise<boolean> {
        await createHook(this);
        return true;
      },
      async delete(this: IHookFunctions): Promise<boolean> {
        await deleteHook(this);
        return true;
      },
    },
  };

  /**
   * Handles a delivery. Millrace delivers at least once: a repeat has the same `id` and starts the workflow again, because only
   * the workflow knows whether the first run succeeded.
   */
  async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
    const request = this.getRequestObject() as unknown as { rawBody?: Buffer };
    const delivery = { headers: this.getHeaderData(), body: request.rawBody ?? Buffer.alloc(0) };
    const secret = secretOf(this);
    if (secret === undefined || !isGenuine(delivery, secret, Date.now())) {
      const message = 'The signature is not from Millrace for this workflow, or is too old';
      this.getResponseObject().status(401).json({ message });
      return { noWebhookResponse: true };
    }
    const event = this.getBodyData();
    // A test delivery from Millrace: there is no event.
    if (event['type'] === 'system.webhook.test') return {};
    return { workflowData: [this.helpers.returnJsonArray(event)] };
  }
}
