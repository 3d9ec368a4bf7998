/**
 * The media types of a PATCH with the schemas of their bodies: the one list that the body parser, the routes and the
 * OpenAPI document use.
 */
import { DOCUMENT_BODY } from '../../database/json/document-shapes.ts';
import { shape } from '../../openapi/schema.ts';
import { OPS } from './json-patch.ts';
import { UPDATE_OPERATORS } from './update-operators.ts';

const JSON_PATCH = shape('JsonPatch', {
  type: 'array',
  description: 'RFC 6902.',
  items: {
    type: 'object',
    required: ['op', 'path'],
    properties: { op: { enum: [...OPS] }, path: { type: 'string' }, from: { type: 'string' }, value: {} },
  },
});

const UPDATE = shape('UpdateOperators', {
  type: 'object',
  description: 'Update operators, each with an object of paths and values.',
  properties: Object.fromEntries([...UPDATE_OPERATORS.keys()].map((name) => [name, { type: 'object' }])),
  additionalProperties: false,
  minProperties: 1,
});

/** Plain JSON counts as a merge patch. */
export const PATCH_BODIES = {
  'application/merge-patch+json': DOCUMENT_BODY,
  'application/json': DOCUMENT_BODY,
  'application/json-patch+json': JSON_PATCH,
  'application/vnd.millrace.update+json': UPDATE,
} as const;

export type PatchType = keyof typeof PATCH_BODIES;

const isPatchType = (name: string): name is PatchType => name in PATCH_BODIES;

export const PATCH_TYPES: readonly PatchType[] = Object.keys(PATCH_BODIES).filter(isPatchType);
