/**
 * The two policies that an automation service needs: for its own webhooks, and for documents. Shown first, then
 * created.
 */
import { Button, Card, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Copyable } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { NamesInput } from '../../parts/names-input.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { useAction } from '../../parts/use-action.ts';
import { ChooseKey } from '../../parts/users/choose-user.tsx';

const ALL = ['read', 'create', 'update', 'delete'] as const;
/** A service creates and removes hooks, and never changes them. */
const OF_HOOKS = ['read', 'create', 'delete'] as const;
/** Represents the key until one is selected. */
const ITS_ID = 'ID_OF_THE_KEY';

interface Requested {
  readonly title: string;
  readonly key: string;
  readonly collections: readonly string[];
  readonly writes: boolean;
}

type NewPolicy = Readonly<Record<string, unknown>>;

interface StoredPolicies {
  readonly policies: readonly NewPolicy[];
}

/** True if it is what the server stored for the policy: that, and an id. */
function isSame({ id: _, ...saved }: NewPolicy, policy: NewPolicy): boolean {
  const fields = Object.keys(policy);
  return (
    fields.length === Object.keys(saved).length &&
    fields.every((field) => JSON.stringify(saved[field]) === JSON.stringify(policy[field]))
  );
}

function policiesFor({ title, key, collections, writes }: Requested): readonly NewPolicy[] {
  const common = { principals: { keys: [key] }, effect: 'allow' };
  return [
    { name: `${title}: webhooks`, resources: ['_webhooks'], actions: OF_HOOKS, ...common },
    { name: `${title}: documents`, resources: collections, actions: writes ? ALL : ['read'], ...common },
  ];
}

/** A policy takes one line: the preview must not hide the button that creates it. */
function textOf(policies: readonly object[]): string {
  return `[\n${policies.map((policy) => `  ${JSON.stringify(policy)}`).join(',\n')}\n]`;
}

export function AccessForm({ title }: { readonly title: string }) {
  const { build, accounts, why } = useRights();
  const { busy, error, run } = useAction();
  const [key, setKey] = useState<string | null>(null);
  const [name, setName] = useState(title);
  const [collections, setCollections] = useState<string[]>([]);
  const [writes, setWrites] = useState(false);
  const { data: known = [] } = useResource<readonly { readonly name: string }[]>('/api', [
    '*.created',
    '*.dropped',
    '*.renamed',
  ]);
  const policies = policiesFor({
    title: name,
    key: key ?? ITS_ID,
    collections: collections.length === 0 ? ['*'] : collections,
    writes,
  });
  const make = async () => {
    const { body: before } = await request<StoredPolicies>('GET', '/admin/policies');
    for (const body of policies) {
      // An attempt that failed between the two continues with the second one.
      if (!before.policies.some((one) => isSame(one, body))) await request('POST', '/admin/policies', { body });
    }
    notifications.show({ title: 'Created both policies', message: 'The key can now subscribe.', color: 'teal' });
  };
  return (
    <Card withBorder>
      <Stack gap="sm">
        <Group align="flex-end" gap="sm">
          {accounts ? (
            <ChooseKey
              value={key}
              onChange={(id, found) => {
                setKey(id);
                setName(found?.name ?? title);
              }}
              flex="1 1 180px"
            />
          ) : (
            <TextInput
              label="Id of the key"
              description="Administrators with the role owner or manager can look it up under Keys"
              value={key ?? ''}
              onChange={({ currentTarget }) => setKey(currentTarget.value === '' ? null : currentTarget.value)}
              autoComplete="off"
              flex="1 1 180px"
            />
          )}
          <NamesInput
            label="Collections"
            placeholder={collections.length === 0 ? 'all' : ''}
            data={known.map(({ name }) => name)}
            value={collections}
            onChange={setCollections}
            flex="2 1 220px"
          />
          <Checkbox
            label="Allow writing documents"
            checked={writes}
            onChange={({ currentTarget }) => setWrites(currentTarget.checked)}
            mb={8}
          />
        </Group>
        <Copyable text={textOf(policies)} what="the policies" />
        {error === null ? null : <Failure error={error} />}
        <Group gap="sm">
          <Button
            variant="default"
            loading={busy}
            disabled={!build || key === null}
            title={build ? (key === null ? 'Choose a key first' : undefined) : why}
            onClick={() => void run(make)}
          >
            Create both policies
          </Button>
          <Text size="sm" c="dimmed">
            Add filters and hidden fields under{' '}
            <PageLink to="/policies" size="sm">
              Policies
            </PageLink>
            .
          </Text>
        </Group>
      </Stack>
    </Card>
  );
}
