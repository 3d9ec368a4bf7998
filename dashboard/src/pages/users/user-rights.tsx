/** Roles and claims of an account, changed together. */
import { Box, Button, Group, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { CodeEditor } from '../../parts/code/code-editor.tsx';
import { faultOfJson, parseJson } from '../../parts/code/json-text.ts';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';
import type { ListedUser } from './accounts.ts';
import { RolesInput } from './roles-input.tsx';

interface UserRightsProps {
  readonly user: ListedUser;
  readonly path: string;
  readonly mayChange: boolean;
  /** Brings what was saved. */
  readonly onSaved: () => Promise<unknown>;
}

interface Draft {
  readonly roles: readonly string[];
  readonly claims: string;
}

export function UserRights({ user, path, mayChange, onSaved }: UserRightsProps) {
  const stored: Draft = { roles: user.roles, claims: JSON.stringify(user.claims, null, 2) };
  // Null while the person has changed nothing: then changes from elsewhere show up by themselves.
  const [draft, setDraft] = useState<Draft | null>(null);
  const { busy, error, run } = useAction();
  const shown = draft ?? stored;
  const fault = faultOfJson(shown.claims);
  const isChanged = JSON.stringify(shown) !== JSON.stringify(stored);
  const save = async () => {
    const body = { roles: shown.roles, claims: parseJson(shown.claims) };
    await request('PATCH', path, { body });
    await onSaved();
    setDraft(null);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void run(save);
      }}
    >
      <Stack gap="sm">
        <Title order={3} size="h4">
          What it may do
        </Title>
        <RolesInput
          kind={user.kind}
          value={shown.roles}
          onChange={(roles) => setDraft({ ...shown, roles })}
          disabled={!mayChange}
        />
        {user.kind === 'owner' ? null : (
          <Box>
            <Text size="sm" fw={600}>
              Claims
            </Text>
            <Text size="xs" c="dimmed" mb={4}>
              Values that policies read as <code>$user.claims.…</code>, such as a tenant. The user cannot set them.
            </Text>
            <CodeEditor
              label="Claims"
              language="json"
              lines={4}
              value={shown.claims}
              onChange={(claims) => setDraft({ ...shown, claims })}
              faults={fault === null ? [] : [fault]}
              readOnly={!mayChange}
            />
          </Box>
        )}
        {error === null ? null : <Failure error={error} />}
        {mayChange ? (
          <Group>
            <Button type="submit" loading={busy} disabled={!isChanged || fault !== null}>
              {user.kind === 'owner' ? 'Save roles' : 'Save roles and claims'}
            </Button>
            {isChanged ? (
              <Button variant="default" onClick={() => setDraft(null)}>
                Discard
              </Button>
            ) : null}
          </Group>
        ) : null}
      </Stack>
    </form>
  );
}
