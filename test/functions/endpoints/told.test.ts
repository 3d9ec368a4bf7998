/** The contract lists the endpoints in force, and stays what it was while nothing changes. */
import { Validator } from '@seriousme/openapi-schema-validator';
import t from 'tap';
import { ANONYMOUS } from '../../../src/auth/identity/principal.ts';
import { endpointOperations } from '../../../src/functions/kinds/endpoints/endpoint-contract.ts';
import { Contract } from '../../../src/http/openapi/contract.ts';
import { endpointWorld } from '../../helpers/functions/endpoint-world.ts';
import { endpoint, pluginOf } from '../../helpers/functions/plugins.ts';

t.test('endpoints in the contract', async (t) => {
  const { app, book, parts } = await endpointWorld(t);
  const paths = async () => {
    const seen = { of: async () => [] };
    const contract = new Contract({ seen, routes: [], endpoints: parts.functions.told, version: '1' });
    return await contract.get(parts.policies.scope(ANONYMOUS, 'read', 'admin'));
  };
  t.strictSame((await paths()).paths, {});
  book.use([
    pluginOf('shop', { total: { use: endpoint('GET,POST /invoice/:id/total') }, list: { use: endpoint('GET /list') } }),
    pluginOf('off', { list: { use: endpoint('GET /off') } }, {}, { enabled: false }),
  ]);
  const told = await paths();
  t.strictSame(Object.keys(told.paths).sort(), ['/fn/invoice/{id}/total', '/fn/list']);
  t.match(told.paths['/fn/invoice/{id}/total'], {
    get: {
      operationId: 'fn.shop.total.get',
      tags: ['Plugin shop'],
      parameters: [{ $ref: '#/components/parameters/path.id' }],
    },
    post: { operationId: 'fn.shop.total.post', requestBody: { required: false } },
  });
  t.match(told.paths['/fn/list'], { get: { operationId: 'fn.shop.list', responses: { 500: {}, 504: {}, 405: {} } } });
  t.notOk('requestBody' in (told.paths['/fn/list']?.['get'] ?? {}));
  t.ok(told.tags.some(({ name }) => name === 'Plugin shop'));
  const result = await new Validator().validate(structuredClone({ ...told }) as never);
  t.equal(result.valid, true, JSON.stringify(result.errors));
  t.ok('/fn/list' in (await app.inject('/openapi.json')).json().paths);

  const endpoints = book.ofKind('endpoint');
  t.equal(endpointOperations(endpoints), endpointOperations(book.ofKind('endpoint')), 'made once');
  book.use([]);
  t.strictSame((await paths()).paths, {});
});
