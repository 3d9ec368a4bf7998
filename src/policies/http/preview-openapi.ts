/** The OpenAPI operation of a policy preview. */
import Type from 'typebox';
import { declareOperation, jsonBody, jsonResponse, VALIDATION_ERRORS } from '../../openapi/operation.ts';
import { arraySchema, nullable } from '../../openapi/schema.ts';
import { POLICY_SCHEMA } from '../policy-schema.ts';

/** A policy that may be saved, or null for one that may be removed. Its own errors are those of saving it. */
export const POLICY_PREVIEW_BODY = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 64, description: 'The id under which it would be saved.' }),
    policy: nullable(Type.Object({}, { additionalProperties: true })),
  },
  { additionalProperties: false },
);

const COUNT = { type: 'integer', minimum: 0 };
const TEXTS = arraySchema({ type: 'string' });
const COMPLETE = { type: 'boolean', description: 'False if the time did not suffice for everything.' };
const EXAMPLE = Type.Object({
  event: Type.String({ description: 'Id of the event.' }),
  type: Type.String(),
  collection: nullable(Type.String()),
  documentId: nullable(Type.String()),
  principal: Type.String({ description: 'In the form of `Millrace-As`.' }),
  fields: Type.Optional(Type.Array(Type.String(), { description: 'Fields that would be shown or hidden.' })),
});
const changes = (description: string) => ({
  type: 'object',
  description,
  required: ['count', 'examples'],
  properties: { count: COUNT, examples: arraySchema(EXAMPLE) },
});
const examined = (what: object) => ({
  type: 'object',
  required: ['examined', 'complete'],
  properties: { examined: what, complete: COMPLETE },
});

export const POLICY_PREVIEW_OPERATION = declareOperation({
  id: 'previewPolicies',
  tag: 'admin',
  summary: 'Preview the effect of a policy before it is saved',
  description:
    'For each of up to 50 principals: which of the newest 1,000 events it would gain or lose, and which open ' +
    'subscriptions would be affected. Nothing is stored.',
  body: jsonBody({
    ...POLICY_PREVIEW_BODY,
    properties: { ...POLICY_PREVIEW_BODY.properties, policy: { anyOf: [POLICY_SCHEMA, { type: 'null' }] } },
  }),
  responses: jsonResponse('What would change.', {
    type: 'object',
    required: ['events', 'principals', 'visible', 'hidden', 'changed', 'subscriptions'],
    properties: {
      warnings: TEXTS,
      events: examined(COUNT),
      principals: examined(TEXTS),
      visible: changes('Events that a principal would see.'),
      hidden: changes('Events that a principal would no longer see.'),
      changed: changes('Events that a principal would see with other fields.'),
      subscriptions: {
        type: 'object',
        description: 'Open subscriptions of the process that responds.',
        required: ['open', 'affected', 'by'],
        properties: {
          open: COUNT,
          affected: COUNT,
          by: arraySchema({
            type: 'object',
            required: ['principal', 'collection', 'count'],
            properties: { principal: { type: 'string' }, collection: { type: ['string', 'null'] }, count: COUNT },
          }),
        },
      },
    },
  }),
  errors: [...VALIDATION_ERRORS, 'invalid-policy', 'too-many-policies', 'policy-not-found'],
});
