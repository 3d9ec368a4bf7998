/** One row of the grid. It is drawn again only after a change of it, so that scrolling stays smooth. */
import { memo } from 'react';
import { type GridColumn, typeLabel, valueAt } from '../parts/columns.ts';
import { type CellActions, CellEditor } from './cell-editor.tsx';
import { CellValue } from './cell-value.tsx';
import type { GridDocument } from './document-pages.ts';
import classes from './grid.module.css';

interface GridRowProps {
  /** Counted from 0. */
  readonly index: number;
  /** In pixels from the top. */
  readonly start: number;
  /** Undefined while it is loading. */
  readonly document: GridDocument | undefined;
  readonly columns: readonly GridColumn[];
  readonly widths: Readonly<Record<string, number>>;
  readonly isOpen: boolean;
  readonly isMarked: boolean;
  /** The column with the cursor, or null. */
  readonly active: number | null;
  readonly isEdited: boolean;
  readonly actions: CellActions;
}

export const GridRow = memo(function GridRow(props: GridRowProps) {
  const { index, start, document, columns, widths, isOpen, isMarked, active, isEdited, actions } = props;
  const look = [classes.row, isOpen ? classes.open : '', isMarked ? classes.marked : ''].join(' ');
  return (
    <div role="row" className={look} style={{ transform: `translateY(${start}px)` }} aria-rowindex={index + 2}>
      {columns.map((column, at) => {
        const value = document === undefined ? undefined : valueAt(document, column.path);
        return (
          <div
            key={column.path}
            id={cellId(index, at)}
            role="gridcell"
            aria-colindex={at + 1}
            className={[
              classes.cell,
              active === at ? classes.active : '',
              // The placeholder is aligned like the numbers of its column.
              typeof value === 'number' || (value === null && typeLabel(column.type) === 'number')
                ? classes.number
                : '',
            ].join(' ')}
            style={{ width: widths[column.path] ?? column.width }}
            onClick={() => actions.focus(index, at)}
            onDoubleClick={() => actions.edit(index, at)}
          >
            {document === undefined ? (
              <span className={classes.waiting} />
            ) : isEdited && active === at ? (
              <CellEditor document={document} path={column.path} value={value} actions={actions} />
            ) : at === 0 ? (
              <span className={classes.id} onClick={() => actions.open(document.id)} title="Open document">
                {document.id}
              </span>
            ) : (
              <CellValue value={value} type={column.type} reference={column.reference} />
            )}
          </div>
        );
      })}
    </div>
  );
});

export function cellId(row: number, column: number): string {
  return `cell-${row}-${column}`;
}
