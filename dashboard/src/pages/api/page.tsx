/** Requests to copy: how a program reads and writes what is here. */
import { Anchor, List, Stack } from '@mantine/core';
import { Copyable } from '../../parts/copy.tsx';
import { Page } from '../../parts/page.tsx';

export function ApiPage() {
  const base = location.origin;
  return (
    <Page title="API" about="Everything here is also a request, with the address of this installation.">
      <Stack>
        <Copyable text={`curl ${base}/api/todos`} what="the command" />
        <List>
          <List.Item>
            <Anchor href="/docs">The whole contract</Anchor>, to read and to try
          </List.Item>
          <List.Item>
            <Anchor href="/openapi.json">openapi.json</Anchor>, for generators of clients
          </List.Item>
        </List>
      </Stack>
    </Page>
  );
}
