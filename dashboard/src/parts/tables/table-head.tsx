/** The head of a table: the words over its columns. */
import { Table, VisuallyHidden } from '@mantine/core';

/** Numbers have theirs at the right. The word over a column of buttons is only for who cannot see the buttons. */
export type Column = string | { readonly right: string } | { readonly hidden: string };

/** The word over a column. */
export function wordOf(column: Column): string {
  if (typeof column === 'string') return column;
  return 'right' in column ? column.right : '';
}

export function TableHead({ columns }: { readonly columns: readonly Column[] }) {
  return (
    <Table.Thead>
      <Table.Tr>
        {columns.map((column) =>
          typeof column === 'string' ? (
            <Table.Th key={column}>{column}</Table.Th>
          ) : 'right' in column ? (
            <Table.Th key={column.right} ta="right">
              {column.right}
            </Table.Th>
          ) : (
            <Table.Th key={column.hidden}>
              <VisuallyHidden>{column.hidden}</VisuallyHidden>
            </Table.Th>
          ),
        )}
      </Table.Tr>
    </Table.Thead>
  );
}
