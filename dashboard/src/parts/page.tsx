/** The frame of a page: its title, its actions, and its content. */
import { Box, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface PageProps {
  readonly title: string;
  /** One line below the title that says what the page is for. */
  readonly about?: ReactNode;
  /** Buttons at the right. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Page({ title, about, actions, children }: PageProps) {
  return (
    <Stack gap="md">
      <title>{`${title} · Millrace`}</title>
      <Group justify="space-between" align="flex-start" gap="sm">
        <Box>
          <Title order={1} size="h2">
            {title}
          </Title>
          {about === undefined ? null : (
            <Text c="dimmed" size="sm">
              {about}
            </Text>
          )}
        </Box>
        {actions === undefined ? null : <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}

/** Placeholders of loading rows. */
export function Loading({ rows = 6 }: { readonly rows?: number }) {
  return (
    <Stack gap="xs" aria-busy="true" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
        <Skeleton key={index} height={28} radius="sm" />
      ))}
    </Stack>
  );
}
