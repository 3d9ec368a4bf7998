/**
 * Snippets for any program: the requests of a hook as commands, in TypeScript, and the OpenAPI document for generators.
 */
import { Anchor, Stack, Tabs, Text, Title } from '@mantine/core';
import { useResource } from '../../api/live.ts';
import { BASE_PATH, SERVER } from '../../api/server.ts';
import { Command, Copyable } from '../../parts/copy.tsx';
import { curl } from '../../parts/curl-command.ts';

/** Shown where there is no collection yet. */
const FIRST = 'todos';

const commandsFor = (base: string, collection: string) =>
  [
    '# Subscribe. The response has the id and, only this once, the secret.',
    curl('/hooks', { targetUrl: 'https://example.com/hook', event: `${collection}.created` }),
    '',
    '# List the hooks, and a sample of what the hook receives',
    curl('/api'),
    curl(`/api/${collection}/_schema`),
    curl(`/api/${collection}/_samples`),
    '',
    '# Unsubscribe',
    curl(`-X DELETE ${base}/hooks/ID`),
  ].join('\n');

const clientFor = (base: string, collection: string) => `import { createClient } from 'millrace/client';

const client = createClient('${base}', { token: process.env['TOKEN'] ?? '' });
const hook = { targetUrl: 'https://example.com/hook', event: '${collection}.created' };
const { body } = await client.request('POST', '/hooks', { body: hook });
const { documents } = await client.collection('${collection}').list({ limit: 10 });
console.log(body, documents);`;

const openApiFor = (base: string) =>
  `${curl(`-o openapi.json ${base}/openapi.json`)}\nnpx openapi-typescript openapi.json -o api.ts`;

export function Snippets() {
  const { data: collections = [] } = useResource<readonly { readonly name: string }[]>('/api');
  const collection = collections[0]?.name ?? FIRST;
  const base = SERVER;
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Custom code
      </Title>
      <Tabs defaultValue="curl" keepMounted={false}>
        <Tabs.List aria-label="Languages">
          <Tabs.Tab value="curl">curl</Tabs.Tab>
          <Tabs.Tab value="typescript">TypeScript</Tabs.Tab>
          <Tabs.Tab value="openapi">OpenAPI</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="curl" pt="xs">
          <Command text={commandsFor(base, collection)} />
        </Tabs.Panel>
        <Tabs.Panel value="typescript" pt="xs">
          <Copyable text={clientFor(base, collection)} what="the code" />
        </Tabs.Panel>
        <Tabs.Panel value="openapi" pt="xs">
          <Text size="sm" mb="xs">
            For client generators. The <Anchor href={`${BASE_PATH}/docs`}>API reference</Anchor> shows the same for
            people.
          </Text>
          <Command text={openApiFor(base)} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
