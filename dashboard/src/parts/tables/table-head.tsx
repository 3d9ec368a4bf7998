/** The head of a table: the labels of its columns. */
import { Table, VisuallyHidden } from '@mantine/core';

/** Numbers are aligned to the right. The label of a column of buttons is only for screen readers. */
export type Column = string | { readonly right: string } | { readonly hidden: string };

/** The label of a column. */
export function wordOf(column: Column): string {
  if (typeof column === 'string') return column;
  return 'right' in column ? column.right : '';
}

export function TableHead({ columns }: { readonly columns: readonly Column[] }) {
  return (
    <Table.Thead>
      <Table.Tr>
        {columns.map((column, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two may have the same word, such as a role and a user
          <Table.Th key={at} ta={typeof column === 'object' && 'right' in column ? 'right' : undefined}>
            {typeof column === 'object' && 'hidden' in column ? (
              <VisuallyHidden>{column.hidden}</VisuallyHidden>
            ) : (
              wordOf(column)
            )}
          </Table.Th>
        ))}
      </Table.Tr>
    </Table.Thead>
  );
}
