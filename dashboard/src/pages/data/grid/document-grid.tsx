/** The grid: rows for all documents of which only the visible ones are drawn; arrow keys, Enter and F2 work in it. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { type GridColumn, valueAt } from '../parts/columns.ts';
import { type CellActions, type CellTarget, isSimple } from './cell-editor.tsx';
import type { DocumentPages } from './document-pages.ts';
import classes from './grid.module.css';
import { GridHead } from './grid-head.tsx';
import { cellId, GridRow } from './grid-row.tsx';

const ROW_HEIGHT = 34;
const HEAD_HEIGHT = 38;
/** Browsers cannot draw anything higher than this many rows. */
const MAX_ROWS = 900_000;
/** Rows that are drawn above and below what is visible. */
const OVERSCAN = 12;

interface DocumentGridProps {
  readonly label: string;
  readonly pages: DocumentPages;
  readonly total: number | null;
  readonly columns: readonly GridColumn[];
  readonly hidden: ReadonlySet<string>;
  readonly sort: string;
  /** The id of the document in the drawer. */
  readonly opened: string | undefined;
  /** Null until the server has reported the user's rights. */
  readonly mayEdit: boolean | null;
  readonly onSort: (sort: string | undefined) => void;
  readonly onOpen: (id: string) => void;
  readonly onSave: (target: CellTarget, value: unknown) => void;
}

export function DocumentGrid(props: DocumentGridProps) {
  const { label, pages, total, columns, hidden, sort, opened } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [widths, setWidths] = useState<Readonly<Record<string, number>>>({});
  const [cursor, setCursor] = useState<{ readonly row: number; readonly column: number } | null>(null);
  const [isEditing, setEditing] = useState(false);
  // The user edits the selected cell before the server has reported their rights.
  const [isRequesting, setRequesting] = useState(false);
  useSyncExternalStore(pages.subscribe, () => pages.version);
  const { rows, isComplete } = pages;
  const count = Math.min(isComplete ? rows.length : Math.max(total ?? 0, rows.length), MAX_ROWS);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    useFlushSync: false,
    scrollPaddingStart: HEAD_HEIGHT,
  });
  const { startIndex = 0, endIndex = 0 } = virtual.range ?? {};
  useEffect(() => pages.show(startIndex, endIndex), [pages, startIndex, endIndex]);

  const latest = useRef(props);
  latest.current = props;
  const actions = useMemo<CellActions>(() => {
    const edit = (row: number, column: number) => {
      const { pages: now, columns: shown, mayEdit, onOpen } = latest.current;
      const [document, path] = [now.rows[row], shown[column]?.path ?? 'id'];
      if (document === undefined) return;
      setCursor({ row, column });
      setRequesting(mayEdit === null);
      if (mayEdit === null) return;
      if (mayEdit && isSimple(path, valueAt(document, path))) setEditing(true);
      else onOpen(document.id);
    };
    return {
      edit,
      focus: (row, column) => {
        setRequesting(false);
        setCursor({ row, column });
      },
      open: (id) => latest.current.onOpen(id),
      save: (target, value) => latest.current.onSave(target, value),
      stop: () => {
        setEditing(false);
        frame.current?.focus({ preventScroll: true });
      },
    };
  }, []);

  const isKnown = props.mayEdit !== null;
  useEffect(() => {
    if (isKnown && isRequesting && cursor !== null) actions.edit(cursor.row, cursor.column);
  }, [isKnown, isRequesting, cursor, actions]);

  const widen = useCallback((path: string, wide: number) => setWidths((now) => ({ ...now, [path]: wide })), []);
  const sortBy = useCallback((next: string | undefined) => latest.current.onSort(next), []);

  const keys = (event: React.KeyboardEvent) => {
    if (event.target !== frame.current) return;
    const { row, column } = cursor ?? { row: startIndex, column: 0 };
    const document = rows[row];
    if (event.key !== 'F2') setRequesting(false);
    if (event.key === 'Enter' && document !== undefined) latest.current.onOpen(document.id);
    else if (event.key === 'F2') actions.edit(row, column);
    else {
      const page = Math.max(1, endIndex - startIndex - 1);
      const [down = 0, right = 0] = MOVES[event.key]?.(page, count) ?? [];
      if (down === 0 && right === 0) return;
      const to = { row: clamp(row + down, count), column: clamp(column + right, columns.length) };
      setCursor(to);
      virtual.scrollToIndex(to.row);
    }
    event.preventDefault();
  };

  const width = columns.reduce((sum, column) => sum + (widths[column.path] ?? column.width), 0);
  return (
    <div
      ref={frame}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={count + 1}
      aria-colcount={columns.length}
      aria-activedescendant={cursor === null ? undefined : cellId(cursor.row, cursor.column)}
      className={classes.frame}
      onKeyDown={keys}
    >
      <div className={classes.sheet} style={{ width }} role="presentation">
        <GridHead columns={columns} widths={widths} sort={sort} hidden={hidden} onSort={sortBy} onWidth={widen} />
        <div role="rowgroup" style={{ position: 'relative', height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const document = rows[index];
            return (
              <GridRow
                key={index}
                index={index}
                start={start}
                document={document}
                columns={columns}
                widths={widths}
                isOpen={document !== undefined && document.id === opened}
                isMarked={document !== undefined && pages.marked.has(document.id)}
                active={cursor?.row === index ? cursor.column : null}
                isEdited={isEditing && cursor?.row === index}
                actions={actions}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

/** Offset in rows and columns, by key. */
const MOVES: Readonly<Record<string, (page: number, count: number) => readonly number[]>> = {
  ArrowDown: () => [1, 0],
  ArrowUp: () => [-1, 0],
  ArrowRight: () => [0, 1],
  ArrowLeft: () => [0, -1],
  PageDown: (page) => [page, 0],
  PageUp: (page) => [-page, 0],
  Home: (_page, count) => [-count, 0],
  End: (_page, count) => [count, 0],
};

function clamp(at: number, count: number): number {
  return Math.max(0, Math.min(at, count - 1));
}
