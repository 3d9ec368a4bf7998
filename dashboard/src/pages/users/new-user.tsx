/** Makes an account: with a password, with a letter that invites to choose one, or for a sign-in by a provider. */
import { Modal, PasswordInput, Radio, SegmentedControl, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useRights } from '../../api/rights.ts';
import { Failure, tellFailure } from '../../parts/failure.tsx';
import { FormEnd } from '../../parts/forms/form-end.tsx';
import { useAction } from '../../parts/use-action.ts';
import { type ListedUser, OWNERS_ONLY } from './accounts.ts';
import { RolesInput } from './roles-input.tsx';
import { sendResetLetter } from './user-access.tsx';

interface NewUserProps {
  readonly onClose: () => void;
  readonly onMade: (id: string) => void;
}

type WayIn = 'password' | 'letter' | 'none';

export function NewUser({ onClose, onMade }: NewUserProps) {
  const { owners } = useRights();
  const { busy, error, run } = useAction();
  const [kind, setKind] = useState<'user' | 'owner'>('user');
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
    const made = (await request<ListedUser>('POST', '/admin/users', { body })).body;
    notifications.show({ message: `${username || email} is made`, color: 'teal' });
    if (way === 'letter') await sendResetLetter(email).catch(tellFailure);
    onMade(made.id);
  };

  return (
    <Modal opened onClose={onClose} title="New account" size="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(make);
        }}
      >
        <Stack>
          <SegmentedControl
            fullWidth
            aria-label="Kind of account"
            value={kind}
            onChange={(value) => {
              setKind(value === 'owner' ? 'owner' : 'user');
              setRoles([]);
            }}
            data={[
              { value: 'user', label: 'User of the application' },
              { value: 'owner', label: 'Owner of this server', disabled: !owners },
            ]}
          />
          {owners ? null : (
            <Text size="xs" c="dimmed">
              {OWNERS_ONLY}. The first one is made by <code>millrace owner</code> on the server.
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
              required={way === 'letter' || username === ''}
              withAsterisk={way === 'letter'}
              onChange={({ currentTarget }) => setEmail(currentTarget.value)}
              autoComplete="off"
            />
          </SimpleGrid>
          <Radio.Group label="First sign-in" value={way} onChange={(value) => setWay(value as WayIn)}>
            <Stack gap="xs" mt={4}>
              <Radio value="password" label="With a password that you set here" />
              <Radio value="letter" label="By a letter: its link lets the person choose a password" />
              <Radio value="none" label="By an identity provider only" />
            </Stack>
          </Radio.Group>
          {way === 'password' ? (
            <PasswordInput
              label="Password"
              description="8 to 256 characters; the most common ones are refused"
              value={password}
              required
              onChange={({ currentTarget }) => setPassword(currentTarget.value)}
              autoComplete="new-password"
            />
          ) : null}
          <RolesInput kind={kind} value={roles} onChange={setRoles} />
          {error === null ? null : <Failure error={error} />}
          <FormEnd verb="Make the account" busy={busy} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
