/** What an operation of the node Millrace is, and how the parameters of one are shown. Not here: the operations. */
import type { IDataObject, IExecuteFunctions, INodeExecutionData, INodeProperties } from 'n8n-workflow';

/** Does the work for one item of the input. */
export type Operation = (node: IExecuteFunctions, item: number) => Promise<readonly INodeExecutionData[]>;

/** One JSON object as the output for an item. */
export const one = (json: IDataObject): INodeExecutionData[] => [{ json }];

/** Parameters that are shown for these operations of a resource. */
export function shownFor(
  resource: string,
  operations: readonly string[],
  properties: INodeProperties[],
): INodeProperties[] {
  const show = { resource: [resource], operation: [...operations] };
  return properties.map((property) => ({
    ...property,
    displayOptions: { ...property.displayOptions, show: { ...show, ...property.displayOptions?.show } },
  }));
}
