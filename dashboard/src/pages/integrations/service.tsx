/** One service: the steps that connect it, with the address of this installation. Not here: its rights (access-form.tsx). */
import { Alert, Anchor, List, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useRights } from '../../api/rights.ts';
import { BASE_PATH, SERVER } from '../../api/server.ts';
import { Copyable } from '../../parts/copy.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { AccessForm } from './access-form.tsx';
import type { ServiceName } from './route.ts';

export const TITLES: Readonly<Record<ServiceName, string>> = { zapier: 'Zapier', n8n: 'n8n', other: 'Make and others' };

/** What is done in the service, after it has a key. */
const STEPS: Readonly<Record<ServiceName, readonly ReactNode[]>> = {
  zapier: [
    <>
      Once: push the app in <code>integrations/zapier</code> of the sources to your account at Zapier. Its README says
      how.
    </>,
    <>
      In Zapier, add a connection of the app. <b>Base URL</b> is the address below, <b>API Key</b> is the key.
    </>,
    <>
      Choose a trigger: <b>Document Created</b>, <b>Document Updated</b>, <b>Document Deleted</b> or{' '}
      <b>File Uploaded</b>. When the Zap is switched on, its hook appears below.
    </>,
  ],
  n8n: [
    <>
      Once: install the node in <code>integrations/n8n</code> of the sources in your n8n. Its README says how.
    </>,
    <>
      In n8n, make a credential <b>Millrace API</b>. <b>Base URL</b> is the address below, <b>API Key</b> is the key.
    </>,
    <>
      Begin a workflow with <b>Millrace Trigger</b>, and write with <b>Millrace</b>. When the workflow is active, its
      hook appears below. The node checks the signature of each call.
    </>,
  ],
  other: [
    <>
      In Make, begin a scenario with <b>Webhooks: Custom webhook</b> and copy its address. Every service that gives you
      an address for a webhook does.
    </>,
    <>
      Subscribe this address with the request under <b>By hand</b>. The hook appears below.
    </>,
    <>
      To read and write, let the service send requests with the header <code>authorization: Bearer</code> and the key.{' '}
      <Anchor href={`${BASE_PATH}/docs`}>The reference</Anchor> has all of them.
    </>,
  ],
};

export function Service({ name }: { readonly name: ServiceName }) {
  const { accounts } = useRights();
  const title = name === 'other' ? 'Automation' : TITLES[name];
  return (
    <Stack gap="sm">
      <List type="ordered" spacing="xs" size="sm">
        <List.Item>
          {accounts ? (
            <PageLink to="/keys" search={{ create: true }} size="sm">
              Make a key
            </PageLink>
          ) : (
            'Let an owner or admin make a key'
          )}{' '}
          of its own for the service: then you can end it alone, and its hooks with it.
        </List.Item>
        <List.Item>Say what the key may do, by policies. These two are enough:</List.Item>
      </List>
      <AccessForm title={title} />
      <List type="ordered" spacing="xs" size="sm" start={3}>
        {STEPS[name].map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the steps never change
          <List.Item key={index}>{step}</List.Item>
        ))}
      </List>
      <Text size="sm">The address of this installation:</Text>
      <Copyable text={SERVER} what="the address" />
      {isLocal(location.hostname) && name !== 'n8n' ? (
        <Alert color="yellow" py="xs" title="The service cannot reach this address">
          It leads to this machine, and the service runs elsewhere. It gets events all the same, but cannot subscribe,
          read or write. Give the installation a public address, or a tunnel.
        </Alert>
      ) : null}
    </Stack>
  );
}

/** Whether an address of this name leads to the machine of the browser itself. */
function isLocal(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127\./.test(host);
}
