/**
 * The parts of n8n-core and n8n-workflow that tests use, as types: both are installed in integrations/n8n only. Names
 * and shapes are those of n8n.
 */

export interface Item {
  readonly json: Readonly<Record<string, unknown>>;
  readonly binary?: Readonly<
    Record<string, { readonly data: string; readonly mimeType: string; readonly fileName?: string }>
  >;
  readonly pairedItem?: unknown;
  readonly error?: Error;
}

/** The end of a run. */
export interface Run {
  readonly status: string;
  readonly data: {
    readonly resultData: {
      readonly runData: Readonly<
        Record<string, readonly { readonly data?: { readonly main: readonly (readonly Item[])[] } }[]>
      >;
      readonly lastNodeExecuted?: string;
      readonly error?: Error;
    };
  };
}

export interface N8nNode {
  readonly name: string;
  readonly type: string;
  readonly parameters: object;
}

type WithContext<A extends unknown[], R> = (this: object, ...words: A) => Promise<R>;

/** An instance of a node's class. */
export interface NodeModule {
  readonly description: {
    readonly webhooks?: readonly object[];
    readonly usableAsTool?: boolean;
    readonly properties: readonly { readonly name: string }[];
  };
  readonly methods: { readonly listSearch: { readonly searchCollections: WithContext<[filter?: string], unknown> } };
  readonly webhookMethods?: {
    readonly default: Readonly<Record<'checkExists' | 'create' | 'delete', WithContext<[], boolean>>>;
  };
  readonly webhook: WithContext<[], { workflowData?: Item[][]; noWebhookResponse?: boolean }>;
}

export interface CredentialModule {
  readonly properties: readonly object[];
  readonly authenticate: { readonly properties: Readonly<Record<string, Readonly<Record<string, string>>>> };
  readonly test: { readonly request: { readonly baseURL: string; readonly url: string } };
}

export interface N8nWorkflow {
  readonly nodeTypes: { getByNameAndVersion(name: string): NodeModule };
  readonly expression: {
    getSimpleParameterValue(
      node: N8nNode,
      text: string,
      mode: string,
      keys: object,
      data: undefined,
      other: string,
    ): string;
  };
  getStaticData(type: 'node', node: N8nNode): Record<string, unknown>;
}

/** The package n8n-workflow. */
export interface Tools {
  readonly Workflow: new (given: object) => N8nWorkflow;
  readonly NodeHelpers: { getNodeWebhookPath(id: string, node: N8nNode, path: string, isFullPath: boolean): string };
  readonly createRunExecutionData: (given: object) => object;
}

interface Loader {
  loadAll(): Promise<void>;
  readonly packageName: string;
  readonly nodeTypes: Readonly<Record<string, { readonly type: NodeModule }>>;
  readonly credentialTypes: Readonly<Record<string, { readonly type: CredentialModule }>>;
}

type Context = new (...words: unknown[]) => object;

/** The package n8n-core. */
export interface Core {
  readonly PackageDirectoryLoader: { new (folder: string): Loader; readonly prototype: Loader };
  readonly HookContext: Context;
  readonly WebhookContext: Context;
  readonly LoadOptionsContext: Context;
  readonly ExecutionLifecycleHooks: Context;
  readonly WorkflowExecute: new (
    ...words: unknown[]
  ) => { processRunExecutionData(workflow: N8nWorkflow): Promise<Run> };
}
