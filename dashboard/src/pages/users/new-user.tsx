/** Creates a user: with a password, with an invitation by e-mail, or for a sign-in by a provider. */
import { Modal, PasswordInput, Radio, SegmentedControl, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useRights } from '../../api/rights.ts';
import { Failure, reportFailure } from '../../parts/failure.tsx';
import { FormEnd } from '../../parts/forms/form-end.tsx';
import { useAction } from '../../parts/use-action.ts';
import { RolesInput } from './roles-input.tsx';
import { sendResetEmail } from './user-sign-in-methods.tsx';
import { ADMINS_ONLY, type ListedUser } from './users.ts';

interface NewUserProps {
  readonly onClose: () => void;
  readonly onCreated: (id: string) => void;
}

type WayIn = 'password' | 'email' | 'none';

export function NewUser({ onClose, onCreated }: NewUserProps) {
  const { owners } = useRights();
  const { busy, error, run } = useAction();
  const [kind, setKind] = useState<'user' | 'admin'>('user');
  const [username, setUsername] = useState('');
  const [email, setEmail] = useState('');
  const [way, setWay] = useState<WayIn>('password');
  const [password, setPassword] = useState('');
  const [roles, setRoles] = useState<readonly string[]>([]);

  const make = async () => {
    const body = {
      kind,
      roles,
      ...(username === '' ? {} : { username }),
      ...(email === '' ? {} : { email }),
      ...(way === 'password' ? { password } : {}),
    };
    const created = (await request<ListedUser>('POST', '/admin/users', { body })).body;
    notifications.show({ message: `Created ${username || email}`, color: 'teal' });
    if (way === 'email') await sendResetEmail(email).catch(reportFailure);
    onCreated(created.id);
  };

  return (
    <Modal opened onClose={onClose} title="New user" size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(make);
        }}
      >
        <Stack>
          <SegmentedControl
            fullWidth
            aria-label="Kind of user"
            value={kind}
            onChange={(value) => {
              setKind(value === 'admin' ? 'admin' : 'user');
              setRoles([]);
            }}
            data={[
              { value: 'user', label: 'User of the application' },
              { value: 'admin', label: 'Administrator of this server', disabled: !owners },
            ]}
          />
          {owners ? null : (
            <Text size="xs" c="dimmed">
              {ADMINS_ONLY}. <code>millrace admin</code> on the server creates the first one.
            </Text>
          )}
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm" verticalSpacing="xs">
            <TextInput
              label="User name"
              value={username}
              onChange={({ currentTarget }) => setUsername(currentTarget.value)}
              autoComplete="off"
              data-autofocus
            />
            <TextInput
              label="E-mail address"
              type="email"
              value={email}
              required={way === 'email' || username === ''}
              withAsterisk={way === 'email'}
              onChange={({ currentTarget }) => setEmail(currentTarget.value)}
              autoComplete="off"
            />
          </SimpleGrid>
          <Radio.Group label="First sign-in" value={way} onChange={(value) => setWay(value as WayIn)}>
            <Stack gap="xs" mt={4}>
              <Radio value="password" label="Set a password" />
              <Radio value="email" label="Invite by e-mail" />
              <Radio value="none" label="With an identity provider only" />
            </Stack>
          </Radio.Group>
          {way === 'password' ? (
            <PasswordInput
              label="Password"
              description="8 to 256 characters; the most common passwords are rejected"
              value={password}
              required
              onChange={({ currentTarget }) => setPassword(currentTarget.value)}
              autoComplete="new-password"
            />
          ) : null}
          <RolesInput kind={kind} value={roles} onChange={setRoles} />
          {error === null ? null : <Failure error={error} />}
          <FormEnd verb="Create user" busy={busy} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
