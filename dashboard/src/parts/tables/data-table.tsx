/**
 * A table with a frame around it. On a phone its rows become blocks that name each value, because columns outside the
 * screen are overlooked.
 */
import { Table } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './data-table.module.css';
import { type Column, TableHead, wordOf } from './table-head.tsx';

interface DataTableProps {
  /** What the rows are, for screen readers. */
  readonly label: string;
  /** Seven at most, unless the cells of the others have their column in `data-column`. */
  readonly columns: readonly Column[];
  /** True for a few narrow columns, which stay columns in a dialog and become blocks on a phone only. */
  readonly few?: boolean;
  /** Rows with one cell for each column. */
  readonly children: ReactNode;
}

export function DataTable({ label, columns, few = false, children }: DataTableProps) {
  // The style sheet writes them before the cells.
  const words = Object.fromEntries(columns.map((column, at) => [`--column-${at + 1}`, quoted(wordOf(column))]));
  return (
    <div className={few ? `${classes.frame} ${classes.few}` : classes.frame}>
      <Table highlightOnHover verticalSpacing="xs" aria-label={label} className={classes.table ?? ''} style={words}>
        <TableHead columns={columns} />
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </div>
  );
}

/** As a string of a style sheet. */
function quoted(word: string): string {
  return `"${word.replaceAll(/["\\]/g, '\\$&')}"`;
}
