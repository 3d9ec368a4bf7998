/** File operations: their parameters and requests. */
import { randomUUID } from 'node:crypto';
import type { IDataObject, INodeProperties } from 'n8n-workflow';
import { jsonObject } from '../api/parameters';
import { requestJson, segment, send } from '../api/requests';
import { type Operation, one, shownFor } from './operations';

const RESOURCE = 'file';

export const FILE_PROPERTIES: INodeProperties[] = [
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: { show: { resource: [RESOURCE] } },
    options: [
      {
        name: 'Download',
        value: 'download',
        description: 'Get the bytes of a file by its ID',
        action: 'Download a file',
      },
      { name: 'Upload', value: 'upload', description: 'Store a file', action: 'Upload a file' },
    ],
    default: 'upload',
  },
  ...shownFor(
    RESOURCE,
    ['download'],
    [
      {
        displayName: 'File ID',
        name: 'fileId',
        type: 'string',
        default: '',
        required: true,
        description: 'The ID of the file, as returned by the upload',
      },
      {
        displayName: 'Put Output File in Field',
        name: 'binaryPropertyName',
        type: 'string',
        default: 'data',
        required: true,
        hint: 'The name of the output binary field to put the file in',
      },
    ],
  ),
  ...shownFor(
    RESOURCE,
    ['upload'],
    [
      {
        displayName: 'Input Binary Field',
        name: 'binaryPropertyName',
        type: 'string',
        default: 'data',
        required: true,
        hint: 'The name of the input binary field containing the file to be uploaded',
      },
      {
        displayName: 'Options',
        name: 'options',
        type: 'collection',
        placeholder: 'Add option',
        default: {},
        options: [
          {
            displayName: 'Metadata',
            name: 'metadata',
            type: 'json',
            default: '{}',
            description: 'Metadata stored with the file, as a JSON object of up to 8 KiB, such as {"album": 7}',
          },
          {
            displayName: 'File Name',
            name: 'fileName',
            type: 'string',
            default: '',
            description: 'A file name that replaces that of the input',
          },
        ],
      },
    ],
  ),
];

export const FILE_OPERATIONS: Readonly<Record<string, Operation>> = {
  async download(node, item) {
    const id = segment(node, node.getNodeParameter('fileId', item), 'File ID', item);
    const file = (await requestJson(node, { method: 'GET', path: `/files/${id}`, item })) as IDataObject;
    const [name, type] = [String(file['name'] || 'file'), String(file['type'])];
    // Any name works: the id identifies the file, and the true name could be too long for a URL.
    const { body } = await send(node, {
      method: 'GET',
      path: `/files/${id}/content`,
      headers: { accept: '*/*' },
      item,
    });
    const property = String(node.getNodeParameter('binaryPropertyName', item));
    return [{ json: file, binary: { [property]: await node.helpers.prepareBinaryData(body, name, type) } }];
  },

  async upload(node, item) {
    const property = String(node.getNodeParameter('binaryPropertyName', item));
    const binary = node.helpers.assertBinaryData(item, property);
    const bytes = await node.helpers.getBinaryDataBuffer(item, property);
    const options = node.getNodeParameter('options', item, {}) as { fileName?: string; metadata?: unknown };
    const metadata = jsonObject(node, options.metadata, 'Metadata', item);
    const name = options.fileName || binary.fileName || property;
    const form = multipart({ bytes, name, type: binary.mimeType, metadata });
    return one((await requestJson(node, { method: 'POST', path: '/files', item, ...form })) as IDataObject);
  },
};

interface Upload {
  readonly bytes: Buffer;
  readonly name: string;
  readonly type: string;
  readonly metadata: IDataObject;
}

/**
 * A multipart form with a file (RFC 7578). Written by hand, because nodes in n8n Cloud must not have dependencies, and n8n sends
 * the platform's FormData without its content.
 */
function multipart({ bytes, name, type, metadata }: Upload): { body: Buffer; headers: Record<string, string> } {
  const boundary = `millrace-${randomUUID()}`;
  const part = (head: string) => `--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n`;
  const fields = Object.keys(metadata).length === 0 ? '' : `${part('name="metadata"')}${JSON.stringify(metadata)}\r\n`;
  const media = /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'application/octet-stream';
  const file = part(`name="file"; filename=${quoted(name)}\r\ncontent-type: ${media}`);
  const body = Buffer.concat([Buffer.from(fields + file), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  return { body, headers: { 'content-type': `multipart/form-data; boundary=${boundary}` } };
}

/** A file name as a quoted string (RFC 2183). Line breaks would end the header. */
function quoted(name: string): string {
  return `"${name.replace(/[\r\n]+/g, ' ').replace(/["\\]/g, '\\$&')}"`;
}
