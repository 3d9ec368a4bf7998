/**
 * A workflow in n8n's own engine (the package n8n-core): its loader loads the built package, its contexts are what the
 * nodes see, its executor runs them. What the server of n8n adds around that is done here in its order: hooks at
 * activation, a run for each delivery, credentials in requests.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Test } from 'tap';
import type { Core, Item, N8nNode, N8nWorkflow, NodeModule, Run, Tools } from './core-types.ts';
import { built, FOLDER, requireThere } from './package.ts';

const CREDENTIALS = 'millraceApi';

export interface Credentials {
  readonly baseUrl: string;
  readonly apiKey: string;
}

export interface Engine {
  /** A workflow of nodes, each connected to the next one. */
  workflow(nodes: readonly NodeSpec[], credentials: Credentials): TestWorkflow;
  /** The node types and credentials in the package, as found by n8n's loader. */
  readonly loader: Core['PackageDirectoryLoader']['prototype'];
}

export interface NodeSpec {
  /** The name of its type in the package. */
  readonly type: 'millrace' | 'millraceTrigger';
  readonly parameters: object;
  readonly onError?: 'continueRegularOutput';
}

/** Opens the engine with the built package. */
export async function openEngine(t: Test): Promise<Engine> {
  await built();
  const home = mkdtempSync(join(tmpdir(), 'millrace-n8n-'));
  t.teardown(() => rmSync(home, { recursive: true, force: true }));
  process.env['N8N_USER_FOLDER'] = home;
  const core: Core = requireThere('n8n-core');
  const tools: Tools = requireThere('n8n-workflow');
  const loader = new core.PackageDirectoryLoader(FOLDER);
  await loader.loadAll();
  const open = { core, tools, loader, deliveries: await listen(t) };
  return { loader, workflow: (nodes, credentials) => new TestWorkflow(open, nodes, credentials) };
}

interface Open {
  readonly core: Core;
  readonly tools: Tools;
  readonly loader: Engine['loader'];
  readonly deliveries: Deliveries;
}

export class TestWorkflow {
  /** The result of each run, in the order of their starts. */
  readonly runs: Run[] = [];
  /** The statuses of the responses to deliveries. */
  readonly response: number[] = [];
  readonly #open: Open;
  readonly #workflow: N8nWorkflow;
  readonly #first: N8nNode;
  readonly #credentials: Credentials;
  readonly #path: string;

  constructor(open: Open, specs: readonly NodeSpec[], credentials: Credentials) {
    this.#open = open;
    this.#credentials = credentials;
    const nodes = specs.map((spec, at) => ({
      ...spec,
      id: `node-${at}`,
      name: `${at}`,
      type: `n8n-nodes-millrace.${spec.type}`,
      typeVersion: 1,
      position: [0, 0],
      credentials: { [CREDENTIALS]: { id: 'c1', name: 'Millrace' } },
    }));
    const [first] = nodes;
    if (first === undefined) throw new Error('A workflow has a node');
    this.#first = first;
    const to = (at: number) => ({ main: [[{ node: `${at + 1}`, type: 'main', index: 0 }]] });
    const connections = Object.fromEntries(nodes.slice(1).map((_, at) => [`${at}`, to(at)]));
    const { nodeTypes } = open.loader;
    const typeOf = (name: string) => nodeTypes[name.replace('n8n-nodes-millrace.', '')]?.type;
    const types = { getByName: typeOf, getByNameAndVersion: typeOf, getKnownTypes: () => ({}) };
    const id = `w${open.deliveries.taken.size}`;
    const given = { id, nodes, connections, active: true, nodeTypes: types, settings: { executionOrder: 'v1' } };
    this.#workflow = new open.tools.Workflow(given);
    this.#path = open.tools.NodeHelpers.getNodeWebhookPath(id, first, 'webhook', false);
    open.deliveries.taken.set(`/webhook/${this.#path}`, (request, response) => this.#deliver(request, response));
  }

  /** The URL that Millrace delivers to. */
  get url(): string {
    return `${this.#open.deliveries.url}/webhook/${this.#path}`;
  }

  /** What n8n stores with the workflow for its first node. */
  get staticData(): Record<string, unknown> {
    return this.#workflow.getStaticData('node', this.#first);
  }

  /**
   * Activates it as n8n does: the hook is created unless it exists.
   * @returns whether it was created
   */
  async activate(): Promise<boolean> {
    const methods = this.#module.webhookMethods?.default;
    if (methods === undefined) throw new Error('The first node is no trigger');
    if (await methods.checkExists.call(this.#hookContext)) return false;
    await methods.create.call(this.#hookContext);
    return true;
  }

  async deactivate(): Promise<void> {
    await this.#module.webhookMethods?.default.delete.call(this.#hookContext);
  }

  /** Runs it from its first node with these items. @throws when a node throws */
  async run(...items: Item[]): Promise<readonly Item[]> {
    const run = await this.#execute([items], 'manual');
    if (run.data.resultData.error !== undefined) throw run.data.resultData.error;
    return outputOf(run);
  }

  /** The choices that the editor offers for collections. */
  async collections(filter?: string): Promise<unknown> {
    const context = new this.#open.core.LoadOptionsContext(this.#workflow, this.#first, this.#additional(), '');
    return this.#module.methods.listSearch.searchCollections.call(context, filter);
  }

  get #module(): NodeModule {
    return this.#workflow.nodeTypes.getByNameAndVersion(this.#first.type);
  }

  get #hookContext(): object {
    const webhookDescription = this.#module.description.webhooks?.[0];
    const { HookContext } = this.#open.core;
    const hook = { webhookDescription, isTest: false };
    return new HookContext(this.#workflow, this.#first, this.#additional(), 'trigger', 'activate', hook);
  }

  async #deliver(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const rawBody = await buffer(request);
    const httpRequest = Object.assign(request, {
      rawBody,
      body: JSON.parse(rawBody.toString()),
      params: {},
      query: {},
    });
    const status = (code: number) => {
      response.statusCode = code;
      return { json: (value: unknown) => response.end(JSON.stringify(value)) };
    };
    const additional = { ...this.#additional(), httpRequest, httpResponse: { status } };
    const { WebhookContext } = this.#open.core;
    const description = { webhookDescription: this.#module.description.webhooks?.[0] };
    const context = new WebhookContext(this.#workflow, this.#first, additional, 'webhook', description, [], null);
    const { workflowData, noWebhookResponse } = await this.#module.webhook.call(context);
    if (noWebhookResponse !== true) response.end(JSON.stringify({ message: 'Workflow was started' }));
    this.response.push(response.statusCode);
    if (workflowData !== undefined) this.runs.push(await this.#execute(workflowData, 'webhook'));
  }

  async #execute(main: readonly (readonly Item[])[], mode: 'manual' | 'webhook'): Promise<Run> {
    const nodeExecutionStack = [{ node: this.#first, data: { main }, source: null }];
    const begun = this.#open.tools.createRunExecutionData({ executionData: { nodeExecutionStack } });
    const executor = new this.#open.core.WorkflowExecute(this.#additional(), mode, begun);
    return executor.processRunExecutionData(this.#workflow);
  }

  /** What the server of n8n passes to each run. */
  #additional(): object {
    const workflow = this.#workflow;
    const { loader, deliveries, core } = this.#open;
    const type = loader.credentialTypes[CREDENTIALS]?.type;
    /** As CredentialsHelper of n8n: expressions in the type are filled with the credentials. */
    const authenticate = async (
      given: object,
      _: string,
      request: Record<string, object>,
      __: object,
      node: N8nNode,
    ) => {
      for (const [part, fields] of Object.entries(type?.authenticate.properties ?? {})) {
        const filled = Object.entries(fields).map(([name, text]) => [
          name,
          workflow.expression.getSimpleParameterValue(node, text, 'internal', { $credentials: given }, undefined, ''),
        ]);
        request[part] = { ...request[part], ...Object.fromEntries(filled) };
      }
      return request;
    };
    const credentialsHelper = {
      authenticate,
      getParentTypes: () => [],
      isCredentialUsableByNode: () => true,
      preAuthentication: async () => undefined,
      getDecrypted: async () => ({ ...this.#credentials }),
      getCredentialsProperties: () => type?.properties ?? [],
    };
    const hooks = new core.ExecutionLifecycleHooks('manual', 'e1', {});
    const urls = { webhookBaseUrl: 'webhook', webhookWaitingBaseUrl: 'waiting', formWaitingBaseUrl: 'form-waiting' };
    const absolute = Object.entries(urls).map(([name, path]) => [name, `${deliveries.url}/${path}`]);
    return { credentialsHelper, hooks, executionId: 'e1', variables: {}, ...Object.fromEntries(absolute) };
  }
}

/** The items that the last node of a run returned. */
export function outputOf({ data }: Run): readonly Item[] {
  const { runData, lastNodeExecuted } = data.resultData;
  return runData[lastNodeExecuted ?? '']?.at(-1)?.data?.main[0] ?? [];
}

interface Deliveries {
  readonly url: string;
  /** By path. */
  readonly taken: Map<string, (request: IncomingMessage, response: ServerResponse) => Promise<void>>;
}

/** A server that receives deliveries for all workflows, as n8n does. */
async function listen(t: Test): Promise<Deliveries> {
  const taken: Deliveries['taken'] = new Map();
  const server = createServer((request, response) => {
    const take = taken.get(request.url ?? '');
    if (take === undefined) return void response.writeHead(404).end();
    take(request, response).catch((error: unknown) => {
      t.fail(`A delivery failed: ${error}`);
      response.writeHead(500).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.closeAllConnections());
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, taken };
}
