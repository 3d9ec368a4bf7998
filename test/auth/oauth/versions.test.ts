/** Replaced versions of a provider leave nothing in the program. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { signInFixture } from '../../helpers/providers/sign-in-fixture.ts';
import { until } from '../../helpers/until.ts';

setFlagsFromString('--expose-gc');
const gc: () => void = runInNewContext('gc');
const MAX_GROWTH_BYTES = 4 * 1024 * 1024;

t.test('ten versions of a provider with sign-ins leave no object, listener, timer or connection behind', async (t) => {
  const fixture = await signInFixture(t);
  const { issuer, clientId, clientSecret } = await startLyingProvider(t);
  const old: WeakRef<object>[] = [];
  const signInAt = async (version: number) => {
    const changing = { roles: [`version-${version}`], register: true };
    await fixture.provide({ name: 'acme', kind: 'oidc', issuer, clientId, clientSecret, ...changing });
    await until(
      () => fixture.services.oauth.providers.get('acme')?.roles[0] === `version-${version}`,
      'the version is active',
    );
    t.equal((await fixture.enter('acme')).statusCode, 200, `version ${version}`);
    const provider = fixture.services.oauth.providers.get('acme');
    if (provider !== undefined) old.push(new WeakRef(provider));
  };
  const held = () => process.getActiveResourcesInfo().sort().join();
  const listeners = () => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
  const heap = () => {
    gc();
    return process.memoryUsage().heapUsed;
  };
  // What is loaded once and stays: the library, its caches, connections of the pools.
  for (const version of [1, 2, 3]) await signInAt(version);
  const rest = { held: held(), listeners: listeners(), heap: heap() };
  for (let version = 4; version <= 13; version += 1) await signInAt(version);
  await until(() => {
    gc();
    return old.slice(0, -1).every((ref) => ref.deref() === undefined);
  }, 'all old versions are collected');
  t.ok(old.at(-1)?.deref(), 'the last one is in use');
  await until(() => held().length <= rest.held.length, `as many resources as before: ${rest.held}`);
  t.equal(listeners(), rest.listeners);
  const growth = heap() - rest.heap;
  t.ok(growth < MAX_GROWTH_BYTES, `${growth} bytes`);
});
