/**
 * The media types of a PATCH with the schemas of their bodies: the one list that the body parser, the routes and the
 * OpenAPI document use.
 */
import { DOCUMENT_BODY_SCHEMA } from '../../database/json/document-openapi-schemas.ts';
import { namedSchema } from '../../openapi/schema.ts';
import { JSON_PATCH_OPS } from './json-patch.ts';
import { UPDATE_OPERATORS } from './update-operators.ts';

const JSON_PATCH = namedSchema('JsonPatch', {
  type: 'array',
  description: 'RFC 6902.',
  items: {
    type: 'object',
    required: ['op', 'path'],
    properties: { op: { enum: [...JSON_PATCH_OPS] }, path: { type: 'string' }, from: { type: 'string' }, value: {} },
  },
});

const UPDATE = namedSchema('UpdateOperators', {
  type: 'object',
  description: 'Update operators, each with an object of paths and values.',
  properties: Object.fromEntries([...UPDATE_OPERATORS.keys()].map((name) => [name, { type: 'object' }])),
  additionalProperties: false,
  minProperties: 1,
});

/** Plain JSON counts as a merge patch. */
export const PATCH_BODIES = {
  'application/merge-patch+json': DOCUMENT_BODY_SCHEMA,
  'application/json': DOCUMENT_BODY_SCHEMA,
  'application/json-patch+json': JSON_PATCH,
  'application/vnd.millrace.update+json': UPDATE,
} as const;

export type PatchMediaType = keyof typeof PATCH_BODIES;

const isPatchType = (name: string): name is PatchMediaType => name in PATCH_BODIES;

export const PATCH_MEDIA_TYPES: readonly PatchMediaType[] = Object.keys(PATCH_BODIES).filter(isPatchType);
