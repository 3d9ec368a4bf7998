/** What any program needs, to copy: the requests of a hook as commands, in TypeScript, and the contract for generators. */
import { Anchor, Stack, Tabs, Text, Title } from '@mantine/core';
import { useResource } from '../../api/live.ts';
import { BASE_PATH, SERVER } from '../../api/server.ts';
import { curl } from '../../parts/command.ts';
import { Command, Copyable } from '../../parts/copy.tsx';

/** Shown where there is no collection yet. */
const FIRST = 'todos';

const commandsFor = (base: string, collection: string) =>
  [
    '# Subscribe. The answer has the id and, this one time, the secret.',
    curl('/hooks', { targetUrl: 'https://example.com/hook', event: `${collection}.created` }),
    '',
    '# What there is, and what the hook will get',
    curl('/collections'),
    curl(`/collections/${collection}/schema`),
    curl(`/collections/${collection}/samples`),
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

const contractFor = (base: string) =>
  `${curl(`-o openapi.json ${base}/openapi.json`)}\nnpx openapi-typescript openapi.json -o api.ts`;

export function Snippets() {
  const { data: collections = [] } = useResource<readonly { readonly name: string }[]>('/collections');
  const collection = collections[0]?.name ?? FIRST;
  const base = SERVER;
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        By hand
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
            For generators of clients. <Anchor href={`${BASE_PATH}/docs`}>The reference</Anchor> is the same for people.
          </Text>
          <Command text={contractFor(base)} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
