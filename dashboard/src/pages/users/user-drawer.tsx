/** One account: who it is, what it has, how it signs in, and what can be done with it. */
import { Alert, Badge, Code, Drawer, Group, Stack, Text } from '@mantine/core';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Copyable } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/page.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { When } from '../../parts/when.tsx';
import { type ListedUser, nameOf, OWNERS_ONLY, USER_EVENTS } from './accounts.ts';
import { UserAccess } from './user-access.tsx';
import { UserEnd } from './user-end.tsx';
import { UserRights } from './user-rights.tsx';
import { UserSessions } from './user-sessions.tsx';

export function UserDrawer({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const path = `/admin/users/${encodeURIComponent(id)}`;
  const { data: user, error, refetch } = useResource<ListedUser>(path, USER_EVENTS);
  const { owners } = useRights();
  const mayChange = user !== undefined && (user.kind === 'user' || owners);
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={user === undefined ? 'Account' : `Account ${nameOf(user)}`}
    >
      {error !== null ? (
        <Failure error={error} />
      ) : user === undefined ? (
        <Loading />
      ) : (
        <Stack gap="xl">
          <Stack gap="xs">
            <Group gap="xs">
              <Badge variant="default">{user.kind === 'owner' ? 'Owner' : 'User'}</Badge>
              {user.disabled ? (
                <Badge variant="outline" color="red">
                  Disabled
                </Badge>
              ) : null}
              <Text size="sm" c="dimmed">
                Made <When at={user.createdAt} />
              </Text>
            </Group>
            {user.email === null ? null : (
              <Text size="sm">
                {user.email} · {user.emailVerified ? 'address confirmed' : 'address not confirmed'}
              </Text>
            )}
            <Copyable text={user.id} what="the id" />
            <Profile profile={user.profile} />
            {user.kind === 'owner' ? null : (
              <PageLink to="/policies" search={{ view: 'matrix', as: `user:${user.id}` }} size="sm">
                What policies allow this account
              </PageLink>
            )}
            {mayChange ? null : <Alert color="gray">{OWNERS_ONLY}.</Alert>}
          </Stack>
          <UserRights user={user} path={path} mayChange={mayChange} onSaved={refetch} />
          <UserAccess user={user} path={path} mayChange={mayChange} />
          <UserSessions path={path} mayChange={mayChange} />
          {mayChange ? <UserEnd user={user} path={path} onDeleted={onClose} /> : null}
        </Stack>
      )}
    </Drawer>
  );
}

function Profile({ profile }: Pick<ListedUser, 'profile'>) {
  if (Object.keys(profile).length === 0) return null;
  return (
    <Stack gap={4}>
      <Text size="sm" fw={600}>
        Profile
      </Text>
      <Code block aria-label="Profile">
        {JSON.stringify(profile, null, 2)}
      </Code>
    </Stack>
  );
}
