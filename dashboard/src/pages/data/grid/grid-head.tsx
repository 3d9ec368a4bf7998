/** The headings of the grid: sort by a click, wider by dragging an edge. */
import { UnstyledButton } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { memo } from 'react';
import { type GridColumn, typeLabel } from '../parts/columns.ts';
import classes from './grid.module.css';

const MIN_WIDTH = 60;
const MAX_WIDTH = 900;

interface GridHeadProps {
  readonly columns: readonly GridColumn[];
  readonly widths: Readonly<Record<string, number>>;
  readonly sort: string;
  /** Paths that the principal of the view cannot read. */
  readonly hidden: ReadonlySet<string>;
  readonly onSort: (sort: string | undefined) => void;
  readonly onWidth: (path: string, width: number) => void;
}

/** Drawn again only after a change of it: not while the user scrolls. */
export const GridHead = memo(function GridHead(props: GridHeadProps) {
  const { columns, widths, sort, hidden, onSort, onWidth } = props;
  const [key = ''] = sort.split(',');
  return (
    <div role="row" className={classes.head} aria-rowindex={1}>
      {columns.map(({ path, type, width }, at) => {
        const isHidden = hidden.has(path);
        const direction = key === path ? 'ascending' : key === `-${path}` ? 'descending' : 'none';
        const shown = widths[path] ?? width;
        return (
          <div
            key={path}
            role="columnheader"
            aria-colindex={at + 1}
            aria-sort={direction}
            className={`${classes.heading} ${isHidden ? classes.hidden : ''}`}
            style={{ width: shown }}
          >
            <UnstyledButton
              className={classes.sorter}
              onClick={() => onSort(next(path, direction))}
              title={isHidden ? `${path} is hidden in this view` : `Sort by ${path}`}
            >
              <span className={classes.name}>{path}</span>
              <span className={classes.type}>{isHidden ? 'hidden' : path === 'id' ? '' : typeLabel(type)}</span>
              {direction === 'ascending' ? <IconArrowUp size={14} aria-hidden /> : null}
              {direction === 'descending' ? <IconArrowDown size={14} aria-hidden /> : null}
            </UnstyledButton>
            <span
              className={classes.edge}
              onPointerDown={({ currentTarget, pointerId, clientX }) => {
                currentTarget.setPointerCapture(pointerId);
                currentTarget.onpointermove = (move) =>
                  onWidth(path, Math.min(Math.max(shown + move.clientX - clientX, MIN_WIDTH), MAX_WIDTH));
                currentTarget.onpointerup = () => {
                  currentTarget.onpointermove = null;
                };
              }}
            />
          </div>
        );
      })}
    </div>
  );
});

/** Ascending, descending, and back to the order without a sort. */
function next(path: string, direction: string): string | undefined {
  if (direction === 'none') return path;
  return direction === 'ascending' ? `-${path}` : undefined;
}
