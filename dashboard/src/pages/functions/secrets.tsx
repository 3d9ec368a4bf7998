/** The secrets that the manifest names: whether each is set. Values are sent and never shown. */
import { Button, Group, PasswordInput, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useRights } from '../../api/rights.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Empty } from '../../parts/empty.tsx';
import { useToldAction } from '../../parts/use-action.ts';
import type { WholePlugin } from './parts/answers.ts';
import { useFunctionsAgain } from './parts/place.ts';

export function Secrets({ plugin }: { readonly plugin: WholePlugin }) {
  if (plugin.secrets.length === 0) {
    return (
      <Empty title="The manifest names no secret" command={'"secrets": ["MAIL_KEY"]'}>
        Name secrets in plugin.json. Then their values are set here, and scripts read them as ctx.secrets.MAIL_KEY.
      </Empty>
    );
  }
  return (
    <Stack gap="md">
      <Text size="sm">Values are encrypted. No answer, event, version or log shows one.</Text>
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
  const { busy, run } = useToldAction();
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
          description={set ? 'It is set. A new value replaces it at once' : 'It is not set: scripts get undefined'}
          placeholder={set ? '••••••••' : ''}
          autoComplete="off"
          w={{ base: '100%', xs: 360 }}
          disabled={!build}
          title={build ? undefined : why}
          value={value}
          onChange={({ currentTarget }) => setValue(currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-label': `Show what was typed for ${name}` }}
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
          Scripts get undefined at once. Nobody can read the value to set it again.
        </Confirm>
      ) : null}
    </form>
  );
}
