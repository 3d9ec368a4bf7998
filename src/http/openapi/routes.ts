/**
 * The contract over HTTP: `/openapi.json` for programs, `/docs` for people. Not here: what stands in it (contract.ts).
 */
import { hash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { outsideContract } from '../../contract/operation.ts';
import type { Contract } from './contract.ts';
import { toPage } from './docs-page.ts';
import { STYLE } from './docs-style.ts';

export interface OpenApiRoutesOptions {
  readonly contract: Contract;
}

/** The page has one style, known by its hash, and nothing else that a browser could load or run. */
const PAGE_POLICY =
  `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export async function openApiRoutes(app: FastifyInstance, { contract }: OpenApiRoutesOptions): Promise<void> {
  app.get('/openapi.json', { config: outsideContract('The contract itself') }, async (request) =>
    contract.get(request.principal),
  );

  app.get('/docs', { config: outsideContract('A page for people') }, async (request, reply) => {
    const page = toPage(await contract.get(request.principal));
    return reply.header('content-security-policy', PAGE_POLICY).type('text/html; charset=utf-8').send(page);
  });
}
