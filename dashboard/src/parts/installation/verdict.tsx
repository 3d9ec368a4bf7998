/** What a check has found, in words and with a sign for those who do not see colours. */
import { Group, Text, ThemeIcon } from '@mantine/core';
import { IconAlertTriangle, IconCheck } from '@tabler/icons-react';
import type { ReactNode } from 'react';

export function Verdict({ good, children }: { readonly good: boolean; readonly children: ReactNode }) {
  return (
    <Group gap="sm" wrap="nowrap" align="flex-start" role="status">
      <ThemeIcon size="sm" radius="xl" variant="light" color={good ? 'teal' : 'yellow'} aria-hidden="true">
        {good ? <IconCheck size={14} /> : <IconAlertTriangle size={14} />}
      </ThemeIcon>
      <Text size="sm" component="div">
        {children}
      </Text>
    </Group>
  );
}
