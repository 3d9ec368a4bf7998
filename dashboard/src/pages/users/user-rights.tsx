/** Roles and claims of a user, changed together. */
import { Box, Button, Group, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { CodeEditor } from '../../parts/code/code-editor.tsx';
import { issueOfJson, parseJson } from '../../parts/code/json-text.ts';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';
import { RolesInput } from './roles-input.tsx';
import type { ListedUser } from './users.ts';

interface UserRightsProps {
  readonly user: ListedUser;
  readonly path: string;
  readonly mayChange: boolean;
  /** Called with the saved user. */
  readonly onSaved: () => Promise<unknown>;
}

interface Draft {
  readonly roles: readonly string[];
  readonly claims: string;
}

export function UserRights({ user, path, mayChange, onSaved }: UserRightsProps) {
  const stored: Draft = { roles: user.roles, claims: JSON.stringify(user.claims, null, 2) };
  // Null without changes by the user of the page: then changes from elsewhere appear.
  const [draft, setDraft] = useState<Draft | null>(null);
  const { busy, error, run } = useAction();
  const shown = draft ?? stored;
  const issue = issueOfJson(shown.claims);
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
          Permissions
        </Title>
        <RolesInput
          kind={user.kind}
          value={shown.roles}
          onChange={(roles) => setDraft({ ...shown, roles })}
          disabled={!mayChange}
        />
        {user.kind === 'admin' ? null : (
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
              issues={issue === null ? [] : [issue]}
              readOnly={!mayChange}
            />
          </Box>
        )}
        {error === null ? null : <Failure error={error} />}
        {mayChange ? (
          <Group>
            <Button type="submit" loading={busy} disabled={!isChanged || issue !== null}>
              {user.kind === 'admin' ? 'Save roles' : 'Save roles and claims'}
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
