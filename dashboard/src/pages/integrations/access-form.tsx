/** The two policies that an automation service needs: for its own webhooks, and for documents. Shown first, then made. */
import { Button, Card, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { ChooseKey } from '../../parts/accounts/choose-account.tsx';
import { Copyable } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { NamesInput } from '../../parts/names-input.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { useAction } from '../../parts/use-action.ts';

const ALL = ['read', 'create', 'update', 'delete'] as const;
/** A hook is made and removed, and never changed by its service. */
const OF_HOOKS = ['read', 'create', 'delete'] as const;
/** Stands for the key until one is chosen. */
const ITS_ID = 'ID_OF_THE_KEY';

interface Wanted {
  readonly title: string;
  readonly key: string;
  readonly collections: readonly string[];
  readonly writes: boolean;
}

type NewPolicy = Readonly<Record<string, unknown>>;

interface InForce {
  readonly policies: readonly NewPolicy[];
}

/** True if it is what the server made of the policy: that, and an id. */
function isSame({ id: _, ...saved }: NewPolicy, policy: NewPolicy): boolean {
  const members = Object.keys(policy);
  return (
    members.length === Object.keys(saved).length &&
    members.every((member) => JSON.stringify(saved[member]) === JSON.stringify(policy[member]))
  );
}

function policiesFor({ title, key, collections, writes }: Wanted): readonly NewPolicy[] {
  const common = { principals: { keys: [key] }, effect: 'allow' };
  return [
    { name: `${title}: webhooks`, collections: ['webhooks'], actions: OF_HOOKS, ...common },
    { name: `${title}: documents`, collections, actions: writes ? ALL : ['read'], ...common },
  ];
}

/** A policy takes one line: the answer to "what is made here?" must not hide the button that makes it. */
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
  const { data: known = [] } = useResource<readonly { readonly name: string }[]>('/collections', [
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
    const { body: before } = await request<InForce>('GET', '/admin/policies');
    for (const body of policies) {
      // A try that broke off between the two goes on with the second one.
      if (!before.policies.some((one) => isSame(one, body))) await request('POST', '/admin/policies', { body });
    }
    notifications.show({ title: 'Both policies are in force', message: 'The key may subscribe now.', color: 'teal' });
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
              description="Owners and admins see it"
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
            label="It also writes documents"
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
            title={build ? (key === null ? 'Choose the key first' : undefined) : why}
            onClick={() => void run(make)}
          >
            Make both policies
          </Button>
          <Text size="sm" c="dimmed">
            Conditions and hidden members are added under{' '}
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
