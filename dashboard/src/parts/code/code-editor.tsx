/** An editor for JSON or TypeScript, loaded when a page needs it. */
import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { CodeMirrorProps } from './code-mirror.tsx';

const CodeMirror = lazy(async () => ({ default: (await import('./code-mirror.tsx')).CodeMirror }));

export function CodeEditor(props: CodeMirrorProps) {
  return (
    <Suspense fallback={<Skeleton height={160} />}>
      <CodeMirror {...props} />
    </Suspense>
  );
}
