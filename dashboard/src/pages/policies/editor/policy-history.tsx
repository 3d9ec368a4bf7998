/**
 * The history of one policy, from the versions of the set: changes with their actors; an older state can be restored.
 */
import { Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { JsonDiff } from '../../../parts/code/json-diff.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { ActorText } from '../../../parts/users/actor.tsx';
import { When } from '../../../parts/when.tsx';
import { type Policy, type PolicyVersion, useVersions, withoutId } from '../parts/policies.ts';

interface PolicyHistoryProps {
  readonly id: string;
  /** Restores an older state into the editor; null without the right to change it. */
  readonly onPutBack: ((policy: Policy) => void) | null;
}

interface State {
  readonly version: PolicyVersion;
  /** Null where it was deleted. */
  readonly policy: Policy | null;
  /** Null where it did not exist. */
  readonly before: Policy | null;
}

const SHOWN = 20;

export function PolicyHistory({ id, onPutBack }: PolicyHistoryProps) {
  const { data: versions = [], error } = useVersions();
  const [open, setOpen] = useState<number | null>(null);
  const states = statesOf(id, versions).slice(0, SHOWN);
  return (
    <Stack gap="sm">
      <Title order={3} size="h4">
        History
      </Title>
      {error === null ? null : <Failure error={error} />}
      {states.map(({ version: { version, at, by }, policy, before }, index) => (
        <Card key={version} withBorder padding="sm">
          <Group justify="space-between" gap="xs">
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              Version {version}, <When at={at} />
              {by === null ? null : (
                <>
                  {' '}
                  by <ActorText text={by} />
                </>
              )}
            </Text>
            <Group gap="xs">
              <Button
                size="xs"
                variant="default"
                aria-expanded={open === version}
                aria-label={`Changes of version ${version}`}
                onClick={() => setOpen(open === version ? null : version)}
              >
                {open === version ? 'Hide' : 'Changes'}
              </Button>
              {index === 0 || policy === null || onPutBack === null ? null : (
                <Button
                  size="xs"
                  variant="default"
                  aria-label={`Load version ${version} into the editor`}
                  onClick={() => onPutBack(policy)}
                >
                  Restore
                </Button>
              )}
            </Group>
          </Group>
          {open === version ? <JsonDiff before={before && { ...before }} after={policy && { ...policy }} /> : null}
        </Card>
      ))}
    </Stack>
  );
}

/** The versions in which this policy changed, newest first. */
function statesOf(id: string, versions: readonly PolicyVersion[]): readonly State[] {
  const stateIn = (version: PolicyVersion | undefined) => {
    const found = version?.policies.find((policy) => policy.id === id);
    return found === undefined ? null : withoutId(found);
  };
  return versions.flatMap((version, index) => {
    const [policy, before] = [stateIn(version), stateIn(versions[index + 1])];
    return JSON.stringify(policy) === JSON.stringify(before) ? [] : [{ version, policy, before }];
  });
}
