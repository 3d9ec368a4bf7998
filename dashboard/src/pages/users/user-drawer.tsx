/** One user: name, rights, sign-in methods, and actions. */
import { Alert, Badge, Code, Drawer, Group, Stack, Text } from '@mantine/core';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Copyable } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/page.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { When } from '../../parts/when.tsx';
import { UserEnd } from './user-end.tsx';
import { UserRights } from './user-rights.tsx';
import { UserSessions } from './user-sessions.tsx';
import { UserAccess } from './user-sign-in-methods.tsx';
import { ADMINS_ONLY, type ListedUser, nameOf, USER_EVENTS } from './users.ts';

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
      title={user === undefined ? 'User' : `User ${nameOf(user)}`}
    >
      {error !== null ? (
        <Failure error={error} />
      ) : user === undefined ? (
        <Loading />
      ) : (
        <Stack gap="xl">
          <Stack gap="xs">
            <Group gap="xs">
              <Badge variant="default">{user.kind === 'admin' ? 'Administrator' : 'User'}</Badge>
              {user.disabled ? (
                <Badge variant="outline" color="red">
                  Disabled
                </Badge>
              ) : null}
              <Text size="sm" c="dimmed">
                Created <When at={user.createdAt} />
              </Text>
            </Group>
            {user.email === null ? null : (
              <Text size="sm">
                {user.email} · {user.emailVerified ? 'verified' : 'not verified'}
              </Text>
            )}
            <Copyable text={user.id} what="the id" />
            <Profile profile={user.profile} />
            {user.kind === 'admin' ? null : (
              <PageLink to="/policies" search={{ view: 'matrix', as: `user:${user.id}` }} size="sm">
                Show what policies allow this user
              </PageLink>
            )}
            {mayChange ? null : <Alert color="gray">{ADMINS_ONLY}.</Alert>}
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
