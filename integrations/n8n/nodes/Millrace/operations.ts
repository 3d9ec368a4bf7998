/** An operation of the Millrace node, and the display conditions of its parameters. */
import type { IDataObject, IExecuteFunctions, INodeExecutionData, INodeProperties } from 'n8n-workflow';

/** Runs the operation for one input item. */
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
