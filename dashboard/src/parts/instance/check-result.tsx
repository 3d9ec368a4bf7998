/** The result of a check, in words and with an icon for color-blind users. */
import { Group, Text, ThemeIcon } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconInfoCircle } from '@tabler/icons-react';
import type { ReactNode } from 'react';

/** Bad and good have an icon each; `null` is for manual steps, which cannot be checked. */
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
