/** The current limits, with the environment variable of each. */
import { Code, Stack, Table, Text, Title } from '@mantine/core';
import type { Settings } from '../../../../src/config/settings.ts';
import { Failure } from '../../parts/failure.tsx';
import { type EffectiveSettings, useEffectiveSettings } from '../../parts/instance/effective-settings.ts';
import { numberText } from '../../parts/numbers.ts';
import { Loading } from '../../parts/page.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';

export function Limits() {
  const { data: settings, error, refetch } = useEffectiveSettings();
  if (error !== null) return <Failure error={error} again={() => void refetch()} />;
  if (settings === undefined) return <Loading />;
  return (
    <Stack>
      <Title order={2} size="h4">
        Active limits
      </Title>
      <DataTable label="Limits" columns={['Setting', 'Value', 'Description']}>
        {settings.limits.map((limit) => (
          <Limit key={limit.setting} {...limit} />
        ))}
      </DataTable>
    </Stack>
  );
}

function Limit({ setting, description, value }: EffectiveSettings['limits'][number]) {
  return (
    <Table.Tr>
      <Table.Td>
        <Code>{setting}</Code>
      </Table.Td>
      <Table.Td>
        <Text size="sm" title={value === null ? undefined : numberText(value)}>
          {readable(setting, value)}
        </Text>
      </Table.Td>
      <Table.Td>
        <Text size="sm">{description}</Text>
      </Table.Td>
    </Table.Tr>
  );
}

/** Limits that depend on the memory of the process if they are not set. */
const BY_MEMORY: ReadonlySet<string> = new Set<keyof Settings>([
  'MILLRACE_MAX_MEMORY_BYTES_ALL_CLIENTS',
  'MILLRACE_MAX_MEMORY_BYTES_PER_CLIENT',
]);

/** A number in the unit that its setting has. */
function readable(setting: string, value: number | null): string {
  if (value === null) return BY_MEMORY.has(setting) ? 'depends on memory' : 'no limit';
  if (setting.includes('BYTES')) return bytes(value);
  if (setting.endsWith('_MS')) return time(value);
  return numberText(value);
}

function bytes(value: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
  return `${(value / 1024 ** step).toLocaleString('en', { maximumFractionDigits: 1 })} ${units[step]}`;
}

function time(milliseconds: number): string {
  if (milliseconds >= 3_600_000) return `${numberText(milliseconds / 3_600_000)} hours`;
  return milliseconds >= 1_000 ? `${numberText(milliseconds / 1_000)} s` : `${milliseconds} ms`;
}
