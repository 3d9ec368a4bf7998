/** The outcome of a run or a dry run: its operations, and its error. */
import { Alert, Code, Table, Text } from '@mantine/core';
import { DataTable } from '../../../parts/tables/data-table.tsx';
import type { RunError, RunOperation } from '../parts/responses.ts';

export function ErrorOfRun({ error }: { readonly error: RunError }) {
  return (
    <Alert color="red" variant="light" title={error.code}>
      <Text size="sm">{error.message}</Text>
      {error.stack === null ? null : (
        <Code block mt="xs">
          {error.stack}
        </Code>
      )}
    </Alert>
  );
}

export function Operations({ operations }: { readonly operations: readonly RunOperation[] }) {
  if (operations.length === 0) return <Text size="sm">No operations</Text>;
  return (
    <DataTable label="Operations" columns={['Operation', 'Target', { right: 'Duration' }, 'Outcome']} few>
      {operations.map((one, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the list of a finished run does not change
        <Table.Tr key={index}>
          <Table.Td>{one.operation}</Table.Td>
          <Table.Td style={{ overflowWrap: 'anywhere' }}>{one.target}</Table.Td>
          <Table.Td ta="right">{one.durationMs.toFixed(1)} ms</Table.Td>
          <Table.Td>
            {one.error ?? 'done'}
            {one.written === undefined || one.written === null ? null : (
              <Code block mt={4} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
                {JSON.stringify(one.written, null, 2)}
              </Code>
            )}
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}
