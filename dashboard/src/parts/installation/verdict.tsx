/** What a check has found, in words and with a sign for those who do not see colours. */
import { Group, Text, ThemeIcon } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconInfoCircle } from '@tabler/icons-react';
import type { ReactNode } from 'react';

/** Bad and good have a sign each; `null` is for what a person still has to do, which nobody can check. */
const SIGNS = {
  true: ['teal', IconCheck],
  false: ['yellow', IconAlertTriangle],
  null: ['gray', IconInfoCircle],
} as const;

export function Verdict({ good, children }: { readonly good: boolean | null; readonly children: ReactNode }) {
  const [color, Sign] = SIGNS[`${good}`];
  return (
    <Group gap="sm" wrap="nowrap" align="flex-start" role="status">
      <ThemeIcon size="sm" radius="xl" variant="light" color={color} aria-hidden="true">
        <Sign size={14} />
      </ThemeIcon>
      <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
    </Group>
  );
}
