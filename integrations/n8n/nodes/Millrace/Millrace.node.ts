/** The Millrace node: documents, files and functions. This file runs the chosen operation for each input item. */
import {
  type IExecuteFunctions,
  type INodeExecutionData,
  type INodeType,
  type INodeTypeDescription,
  type JsonObject,
  NodeApiError,
  NodeConnectionTypes,
  NodeOperationError,
} from 'n8n-workflow';
import { searchCollections } from '../api/parameters';
import { DOCUMENT_OPERATIONS, DOCUMENT_PROPERTIES } from './documents';
import { FILE_OPERATIONS, FILE_PROPERTIES } from './files';
import { FUNCTION_OPERATIONS, FUNCTION_PROPERTIES } from './functions';
import type { Operation } from './operations';

const OPERATIONS: Readonly<Record<string, Readonly<Record<string, Operation>>>> = {
  document: DOCUMENT_OPERATIONS,
  file: FILE_OPERATIONS,
  function: FUNCTION_OPERATIONS,
};

export class Millrace implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Millrace',
    name: 'millrace',
    icon: { light: 'file:../../icons/millrace.svg', dark: 'file:../../icons/millrace.dark.svg' },
    group: ['transform'],
    version: 1,
    subtitle: '={{ $parameter["operation"] + ": " + $parameter["resource"] }}',
    description: 'Read and write documents and files of Millrace, and call its functions',
    defaults: { name: 'Millrace' },
    usableAsTool: true,
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'millraceApi', required: true }],
    properties: [
      {
        displayName: 'Resource',
        name: 'resource',
        type: 'options',
        noDataExpression: true,
        options: [
          { name: 'Document', value: 'document' },
          { name: 'File', value: 'file' },
          { name: 'Function', value: 'function' },
        ],
        default: 'document',
      },
      ...DOCUMENT_PROPERTIES,
      ...FILE_PROPERTIES,
      ...FUNCTION_PROPERTIES,
    ],
  };

  methods = { listSearch: { searchCollections } };

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const outputs: INodeExecutionData[] = [];
    for (const item of this.getInputData().keys()) {
      const pairedItem = { item };
      try {
        const resource = String(this.getNodeParameter('resource', item));
        const name = String(this.getNodeParameter('operation', item));
        const operation = OPERATIONS[resource]?.[name];
        if (operation === undefined) {
          throw new NodeOperationError(this.getNode(), `There is no operation '${name}' on '${resource}'`);
        }
        for (const output of await operation(this, item)) outputs.push({ ...output, pairedItem });
      } catch (error) {
        if (!this.continueOnFail()) {
          // Both constructors return an error of their own type unchanged.
          if (error instanceof NodeApiError) throw new NodeApiError(this.getNode(), error as unknown as JsonObject);
          throw new NodeOperationError(this.getNode(), error as Error, { itemIndex: item });
        }
        outputs.push({ json: { error: (error as Error).message }, error: error as NodeApiError, pairedItem });
      }
    }
    return [outputs];
  }
}
