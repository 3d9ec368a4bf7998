/** How a receiver verifies deliveries, and a command that does it on the user's machine. */
import { Anchor, Stack, Tabs, Text, Title } from '@mantine/core';
import { SERVER } from '../../api/server.ts';
import { Copyable } from '../../parts/copy.tsx';
import type { Endpoint } from './parts/webhook-api-types.ts';

const NODE = `import { Webhook } from 'svix'; // npm install svix; it accepts webhook-… and svix-… headers

// rawBody: the bytes as received, not parsed and serialized again
const event = new Webhook(process.env.WEBHOOK_SECRET).verify(rawBody, request.headers);`;

const PYTHON = `from svix.webhooks import Webhook  # pip install svix; it accepts webhook-… and svix-… headers

# raw_body: the bytes as received
event = Webhook(os.environ["WEBHOOK_SECRET"]).verify(raw_body, request.headers)`;

export function Verify({ endpoint }: { readonly endpoint: Endpoint }) {
  const listen = `npm run webhooks -- listen 8080 --types '${endpoint.types.join(',')}' --url ${SERVER}`;
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Verify a delivery
      </Title>
      <Text size="sm">
        Each request is signed according to <Anchor href="https://www.standardwebhooks.com/">Standard Webhooks</Anchor>.
        A library throws if the signature is wrong or the timestamp is too old.
      </Text>
      <Tabs defaultValue="node" keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="node">Node</Tabs.Tab>
          <Tabs.Tab value="python">Python</Tabs.Tab>
          <Tabs.Tab value="listen">On this machine</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="node" pt="xs">
          <Copyable text={NODE} what="the code for Node" />
        </Tabs.Panel>
        <Tabs.Panel value="python" pt="xs">
          <Copyable text={PYTHON} what="the code for Python" />
        </Tabs.Panel>
        <Tabs.Panel value="listen" pt="xs">
          <Text size="sm" mb="xs">
            Creates a temporary endpoint for the same types, shows each request, and verifies its signature.
          </Text>
          <Copyable text={listen} what="the command" />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
