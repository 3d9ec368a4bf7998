/** The rows of events. Only visible rows are in the page, so a thousand cost no more than a screenful. */
import { UnstyledButton } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import type { LoggedEvent } from '../../api/live.ts';
import { ActorOfEvent } from '../../parts/users/actor.tsx';
import { When } from '../../parts/when.tsx';
import classes from './events.module.css';

const ROW_PX = 40;

interface EventListProps {
  /** Newest first. */
  readonly rows: readonly LoggedEvent[];
  /** The open event. */
  readonly open: string | undefined;
  readonly onOpen: (id: string) => void;
}

export function EventList({ rows, open, onOpen }: EventListProps) {
  const frame = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 10,
  });
  const items = virtual.getVirtualItems();
  const above = items[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <div ref={frame} className={classes.frame}>
      <table className={classes.table} aria-label="Events" aria-rowcount={rows.length + 1}>
        <thead className={classes.head}>
          <tr className={classes.row}>
            <th className={classes.when}>Time</th>
            <th className={classes.event}>Event</th>
            <th className={classes.document}>Document</th>
            <th className={classes.wide}>Actor</th>
            <th className={classes.wide}>Changed</th>
          </tr>
        </thead>
        <tbody>
          <Gap height={above} />
          {items.map(({ index, key }) => {
            const event = rows[index];
            if (event === undefined) return null;
            return (
              <tr
                key={key}
                className={event.id === open ? `${classes.row} ${classes.open}` : classes.row}
                aria-rowindex={index + 2}
              >
                <td>
                  <When at={event.timestamp} />
                </td>
                <td>
                  <UnstyledButton className={classes.button} fz="sm" onClick={() => onOpen(event.id)}>
                    {event.type}
                  </UnstyledButton>
                  <div className={classes.below}>{event.documentId}</div>
                </td>
                <td className={classes.document}>{event.documentId ?? ''}</td>
                <td className={classes.wide}>
                  <ActorOfEvent event={event} />
                </td>
                <td className={classes.wide}>{event.changed?.join(', ') ?? ''}</td>
              </tr>
            );
          })}
          <Gap height={below} />
        </tbody>
      </table>
    </div>
  );
}

/** The height of the rows that are not in the page. */
function Gap({ height }: { readonly height: number }) {
  return height <= 0 ? null : <tr aria-hidden style={{ height }} />;
}
