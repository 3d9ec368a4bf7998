/** The OpenAPI document lists the active HTTP functions, and is unchanged while they are. */
import { Validator } from '@seriousme/openapi-schema-validator';
import t from 'tap';
import { ANONYMOUS } from '../../../src/auth/identity/principal.ts';
import { endpointOperations } from '../../../src/functions/endpoints/endpoint-openapi.ts';
import { OpenApiDocuments } from '../../../src/http/openapi/openapi-document-route.ts';
import { endpointFixture } from '../../helpers/functions/endpoint-fixture.ts';
import { endpoint, pluginOf } from '../../helpers/functions/plugins.ts';

t.test('The OpenAPI document lists the active HTTP functions.', async (t) => {
  const { app, registry, parts } = await endpointFixture(t);
  const paths = async () => {
    const seen = { of: async () => [] };
    const openApi = new OpenApiDocuments({ seen, routes: [], endpoints: parts.functions.reported, version: '1' });
    return await openApi.get(parts.policies.scope(ANONYMOUS, 'read', '_admin'));
  };
  t.strictSame((await paths()).paths, {});
  registry.setPlugins([
    pluginOf('shop', { total: { use: endpoint('GET,POST /invoice/:id/total') }, list: { use: endpoint('GET /list') } }),
    pluginOf('off', { list: { use: endpoint('GET /off') } }, {}, { enabled: false }),
  ]);
  const reported = await paths();
  t.strictSame(Object.keys(reported.paths).sort(), ['/fn/invoice/{id}/total', '/fn/list']);
  t.match(reported.paths['/fn/invoice/{id}/total'], {
    get: {
      operationId: 'callShopTotalByGet',
      tags: ['functions/shop'],
      parameters: [{ $ref: '#/components/parameters/PathPartIdParameter' }],
    },
    post: { operationId: 'callShopTotalByPost', requestBody: { required: false } },
  });
  t.match(reported.paths['/fn/list'], {
    get: { operationId: 'callShopList', responses: { 500: {}, 504: {}, 405: {} } },
  });
  t.notOk('requestBody' in (reported.paths['/fn/list']?.['get'] ?? {}));
  t.ok(reported.tags.some(({ name }) => name === 'functions/shop'));
  const result = await new Validator().validate(structuredClone({ ...reported }) as never);
  t.equal(result.valid, true, JSON.stringify(result.errors));
  t.ok('/fn/list' in (await app.inject('/openapi.json')).json().paths);

  const endpoints = registry.ofKind('http');
  t.equal(endpointOperations(endpoints), endpointOperations(registry.ofKind('http')), 'created once');
  registry.setPlugins([]);
  t.strictSame((await paths()).paths, {});
});
