/** The contract over HTTP, for programs. Not here: its content (contract.ts), and its page (http/docs). */
import type { FastifyInstance } from 'fastify';
import { outsideContract } from '../../contract/operation.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Contract } from './contract.ts';

export interface OpenApiRoutesOptions {
  readonly policies: Policies;
  readonly contract: Contract;
}

export async function openApiRoutes(app: FastifyInstance, { policies, contract }: OpenApiRoutesOptions): Promise<void> {
  app.get('/openapi.json', { config: outsideContract('The contract itself') }, async (request) =>
    contract.get(policies.scope(request.principal, 'read', 'admin')),
  );
}
