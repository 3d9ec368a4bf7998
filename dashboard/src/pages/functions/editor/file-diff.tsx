/** Two states of a file, line by line. Long equal parts are left out. */
import classes from './file-diff.module.css';
import { type DiffLine, lineDiff } from './line-diff.ts';

/** Lines that are shown around a difference. */
const AROUND = 3;
const SIGNS = { same: ' ', removed: '-', added: '+' } as const;

interface FileDiffProps {
  readonly before: string;
  readonly after: string;
}

export function FileDiff({ before, after }: FileDiffProps) {
  const lines = lineDiff(before, after);
  return (
    <pre className={classes.diff}>
      {lines.map((line, index) =>
        isNear(lines, index) ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines are computed again when the texts change
          <span key={index} className={classes[line.kind]}>
            {`${SIGNS[line.kind]} ${line.text}\n`}
          </span>
        ) : isNear(lines, index - 1) ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines are computed again when the texts change
          <span key={index} className={classes.same}>
            {'  …\n'}
          </span>
        ) : null,
      )}
    </pre>
  );
}

function isNear(lines: readonly DiffLine[], index: number): boolean {
  return lines.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(({ kind }) => kind !== 'same');
}
