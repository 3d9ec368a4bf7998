/** The user's passkeys: added on this device, listed, removed. */
import { Button, Card, Group, Stack, Table, Text, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { addPasskey, canUsePasskeys } from '../../api/passkeys.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/page.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { useAction } from '../../parts/use-action.ts';
import { When } from '../../parts/when.tsx';

interface Passkey {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
}

export function Passkeys() {
  const { data, error: unread, refetch } = useResource<{ passkeys: readonly Passkey[] }>('/auth/passkeys');
  const { busy, error, run } = useAction();
  const [name, setName] = useState('');
  const [removed, setRemoved] = useState<Passkey | null>(null);
  const add = async () => {
    await addPasskey(name.trim());
    setName('');
    await refetch();
  };

  if (unread !== null) return <Failure error={unread} again={() => void refetch()} />;
  if (data === undefined) return <Loading rows={3} />;
  const { passkeys } = data;
  return (
    <Card withBorder maw={640}>
      <Stack gap="sm">
        <Title order={2} size="h4">
          Passkeys
        </Title>
        <Text size="sm">
          A passkey signs you in without your password: with the fingerprint or PIN of this device, or with a security
          key.
        </Text>
        {passkeys.length === 0 ? null : (
          <DataTable label="Passkeys" columns={['Name', 'Added', 'Last used', { hidden: 'Remove' }]} few>
            {passkeys.map((passkey) => (
              <Table.Tr key={passkey.id}>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{passkey.name}</Table.Td>
                <Table.Td>
                  <When at={passkey.createdAt} />
                </Table.Td>
                <Table.Td>
                  <When at={passkey.lastUsedAt} never="never" />
                </Table.Td>
                <Table.Td ta="right">
                  <Button
                    size="xs"
                    variant="default"
                    aria-label={`Remove the passkey ${passkey.name}`}
                    onClick={() => setRemoved(passkey)}
                  >
                    Remove
                  </Button>
                </Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        )}
        {canUsePasskeys ? (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void run(add);
            }}
          >
            <Group align="flex-end" gap="sm">
              <TextInput
                label="Name of the new passkey"
                placeholder="This computer"
                maxLength={80}
                value={name}
                onChange={({ currentTarget }) => setName(currentTarget.value)}
              />
              <Button type="submit" loading={busy}>
                Add passkey
              </Button>
            </Group>
          </form>
        ) : (
          <Text size="sm" c="dimmed">
            This browser can create passkeys only for a host name, over HTTPS or on this machine as localhost.
          </Text>
        )}
        {error === null ? null : <Failure error={error} />}
      </Stack>
      {removed === null ? null : (
        <Confirm
          title={`Remove the passkey ${removed.name}`}
          verb="Remove"
          onConfirm={async () => {
            await request('DELETE', `/auth/passkeys/${removed.id}`);
            await refetch();
          }}
          onClose={() => setRemoved(null)}
        >
          It can no longer be used to sign in. The device may still offer it until you delete it there, too.
        </Confirm>
      )}
    </Card>
  );
}
