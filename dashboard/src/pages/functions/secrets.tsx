/** The secrets that the manifest lists: whether each is set. Values are sent and never shown. */
import { Button, Group, PasswordInput, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useRights } from '../../api/rights.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Empty } from '../../parts/empty.tsx';
import { useActionWithNotice } from '../../parts/use-action.ts';
import type { WholePlugin } from './parts/responses.ts';
import { useFunctionsAgain } from './parts/search-params.ts';

export function Secrets({ plugin }: { readonly plugin: WholePlugin }) {
  if (plugin.secrets.length === 0) {
    return (
      <Empty title="The manifest declares no secrets" command={'"secrets": ["MAIL_KEY"]'}>
        Declare secrets in plugin.json. Then set their values here; scripts read them as ctx.secrets.MAIL_KEY.
      </Empty>
    );
  }
  return (
    <Stack gap="md">
      <Text size="sm">Values are encrypted. They never appear in a response, event, version or log.</Text>
      {plugin.secrets.map((secret) => (
        <Secret key={secret.name} plugin={plugin.name} secret={secret} />
      ))}
    </Stack>
  );
}

interface SecretProps {
  readonly plugin: string;
  readonly secret: WholePlugin['secrets'][number];
}

function Secret({ plugin, secret: { name, set } }: SecretProps) {
  const { build, why } = useRights();
  const again = useFunctionsAgain();
  const [value, setValue] = useState('');
  const { busy, run } = useActionWithNotice();
  const [isRemoving, setRemoving] = useState(false);
  const path = `/admin/plugins/${encodeURIComponent(plugin)}/secrets/${encodeURIComponent(name)}`;
  const save = async () => {
    await request('PUT', path, { body: { value } });
    setValue('');
    await again();
    notifications.show({ message: `${name} is set` });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void run(save);
      }}
    >
      <Group align="flex-end" gap="xs">
        <PasswordInput
          label={name}
          description={set ? 'Set. A new value replaces it at once' : 'Not set: scripts get undefined'}
          placeholder={set ? '••••••••' : ''}
          autoComplete="off"
          w={{ base: '100%', xs: 360 }}
          disabled={!build}
          title={build ? undefined : why}
          value={value}
          onChange={({ currentTarget }) => setValue(currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-label': `Show the value of ${name}` }}
        />
        <Button type="submit" loading={busy} disabled={!build || value === ''} title={build ? undefined : why}>
          Set
        </Button>
        {set ? (
          <Button variant="default" disabled={!build} title={build ? undefined : why} onClick={() => setRemoving(true)}>
            Remove
          </Button>
        ) : null}
      </Group>
      {isRemoving ? (
        <Confirm
          title={`Remove ${name}`}
          verb="Remove"
          onConfirm={async () => {
            await request('DELETE', path);
            await again();
          }}
          onClose={() => setRemoving(false)}
        >
          Scripts get undefined at once. The value cannot be read or restored.
        </Confirm>
      ) : null}
    </form>
  );
}
