/** An empty state: what it is for, and how to create the first one. */
import { Card, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Command } from './copy.tsx';

interface EmptyProps {
  readonly title: string;
  readonly children: ReactNode;
  /** A command that creates the first one. */
  readonly command?: string;
}

export function Empty({ title, children, command }: EmptyProps) {
  return (
    <Card withBorder padding="lg">
      <Stack gap="sm">
        <Text fw={600}>{title}</Text>
        <Text size="sm">{children}</Text>
        {command === undefined ? null : <Command text={command} />}
      </Stack>
    </Card>
  );
}
