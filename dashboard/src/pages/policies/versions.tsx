/** The versions of the whole set: the changes of each, and going back to one. */
import { Badge, Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { request } from '../../api/client.ts';
import { useRights } from '../../api/rights.ts';
import { JsonDiff } from '../../parts/code/json-diff.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/page.tsx';
import { useAction } from '../../parts/use-action.ts';
import { ActorText } from '../../parts/users/actor.tsx';
import { When } from '../../parts/when.tsx';
import { type PolicyVersion, type SavedPolicy, useVersions, withoutId } from './parts/policies.ts';
import type { ChangeSearch } from './parts/route.ts';

interface VersionsProps {
  readonly open: number | undefined;
  readonly change: ChangeSearch;
}

export function Versions({ open, change }: VersionsProps) {
  const { data: versions, error } = useVersions();
  const { build, why } = useRights();
  const acting = useAction();
  if (error !== null) return <Failure error={error} />;
  if (versions === undefined) return <Loading />;
  const restore = async (version: number) => {
    await request('POST', `/admin/policies/versions/${version}/restore`);
    notifications.show({ message: `Restored the policies of version ${version}`, color: 'teal' });
  };
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        Each change of a policy creates a version of the whole set; the newest 100 are kept. Restoring creates a new
        version, so it can be undone, too.
      </Text>
      {acting.error === null ? null : <Failure error={acting.error} />}
      {versions.map((version, index) => {
        const changes = changesBetween(versions[index + 1], version);
        const isOpen = open === version.version;
        return (
          <Card key={version.version} withBorder padding="sm">
            <Group justify="space-between" gap="xs">
              <Group gap="xs">
                <Title order={2} size="h5">
                  Version {version.version}
                </Title>
                {index === 0 ? <Badge variant="default">active</Badge> : null}
                <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                  <When at={version.at} />
                  {version.by === null ? null : (
                    <>
                      {' '}
                      by <ActorText text={version.by} />
                    </>
                  )}
                </Text>
              </Group>
              <Group gap="xs">
                <Button
                  size="xs"
                  variant="default"
                  aria-expanded={isOpen}
                  aria-label={`Changes of version ${version.version}`}
                  onClick={() => change({ version: isOpen ? undefined : version.version })}
                >
                  {isOpen ? 'Hide changes' : 'Show changes'}
                </Button>
                {index === 0 ? null : (
                  <Button
                    size="xs"
                    variant="default"
                    loading={acting.busy}
                    disabled={!build}
                    {...(build ? {} : { title: why })}
                    aria-label={`Restore version ${version.version}`}
                    onClick={() => void acting.run(() => restore(version.version))}
                  >
                    Restore
                  </Button>
                )}
              </Group>
            </Group>
            <Text size="sm" mt={4}>
              {changes.length === 0
                ? `The oldest stored version, with ${version.policies.length === 1 ? '1 policy' : `${version.policies.length} policies`}`
                : changes.map(({ id, kind }) => `${kind} ${id}`).join(', ')}
            </Text>
            {isOpen
              ? changes.map(({ id, before, after }) => (
                  <Stack key={id} gap={4} mt="sm">
                    <Title order={3} size="h6">
                      {id}
                    </Title>
                    <JsonDiff before={before} after={after} />
                  </Stack>
                ))
              : null}
          </Card>
        );
      })}
    </Stack>
  );
}

interface PolicyChange {
  readonly id: string;
  readonly kind: 'added' | 'changed' | 'removed';
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
}

/** @param before undefined for the oldest retained version */
function changesBetween(before: PolicyVersion | undefined, after: PolicyVersion): readonly PolicyChange[] {
  if (before === undefined) return [];
  const ids = new Set([...before.policies, ...after.policies].map(({ id }) => id));
  return [...ids].flatMap((id): PolicyChange[] => {
    const [was, is] = [before, after].map(({ policies }) => policies.find((one) => one.id === id));
    if (JSON.stringify(was) === JSON.stringify(is)) return [];
    const kind = was === undefined ? 'added' : is === undefined ? 'removed' : 'changed';
    return [{ id, kind, before: fieldsOf(was), after: fieldsOf(is) }];
  });
}

function fieldsOf(policy: SavedPolicy | undefined): Readonly<Record<string, unknown>> | null {
  return policy === undefined ? null : { ...withoutId(policy) };
}
