/** CodeMirror as a part of a form. Load it through code-editor.tsx: it is large. */
import { autocompletion, type CompletionSource, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { json } from '@codemirror/lang-json';
import { bracketMatching, defaultHighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { DARK_COLOURS } from './code-colours.ts';
import classes from './code-mirror.module.css';

/** An error at a position, counted from 1. */
export interface CodeError {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export interface CodeMirrorProps {
  /** The accessible name. */
  readonly label: string;
  readonly value: string;
  readonly language: 'json' | 'typescript';
  readonly onChange?: (value: string) => void;
  readonly issues?: readonly CodeError[];
  readonly complete?: CompletionSource;
  readonly readOnly?: boolean;
  /** Minimum visible lines. */
  readonly lines?: number;
}

export function CodeMirror(props: CodeMirrorProps) {
  const { label, value, language, issues = [], readOnly = false, lines = 8 } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const scheme = useComputedColorScheme('light');
  const colours = useRef(new Compartment());

  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is created once; later values are set below
  useEffect(() => {
    if (host.current === null) return;
    const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';
    const created = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          EditorView.cspNonce.of(nonce),
          lineNumbers(),
          history(),
          indentOnInput(),
          bracketMatching(),
          language === 'json' ? json() : javascript({ typescript: true }),
          lintGutter(),
          autocompletion({
            override: [(context) => latest.current.complete?.(context) ?? null],
            // Within quotes Enter never means a new line, so it need not wait until the suggestion has been visible.
            interactionDelay: language === 'json' ? 0 : 75,
          }),
          keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.lineWrapping,
          EditorState.readOnly.of(readOnly),
          // Explicit, because page checkers do not know that an editable text is reachable by keyboard.
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          EditorView.updateListener.of((update) => {
            const text = update.state.doc.toString();
            // A text set by the page itself is not a change by the user.
            if (update.docChanged && text !== latest.current.value) latest.current.onChange?.(text);
          }),
          colours.current.of(coloursOf(scheme)),
        ],
      }),
    });
    view.current = created;
    return () => created.destroy();
  }, [label, language, readOnly]);

  useEffect(() => {
    const created = view.current;
    if (created === null || created.state.doc.toString() === value) return;
    created.dispatch({ changes: { from: 0, to: created.state.doc.length, insert: value } });
  }, [value]);

  useEffect(() => {
    view.current?.dispatch({ effects: colours.current.reconfigure(coloursOf(scheme)) });
  }, [scheme]);

  const marks = JSON.stringify(issues);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the marks say all of the faults
  useEffect(() => {
    const created = view.current;
    if (created !== null)
      created.dispatch(
        setDiagnostics(
          created.state,
          issues.map((issue) => toDiagnostic(created, issue)),
        ),
      );
  }, [marks]);

  return <div ref={host} className={classes.editor} style={{ minHeight: `${lines * 1.4 + 1}em` }} />;
}

/**
 * A frame around the bracket that matches the one at the cursor. With a background, as CodeMirror has it, Chromium
 * writes that color into the line as a style when the text is replaced, which the content security policy rejects.
 */
const BRACKETS = {
  '&.cm-focused .cm-matchingBracket, &.cm-focused .cm-nonmatchingBracket': {
    backgroundColor: 'transparent',
    outline: '1px solid currentColor',
  },
};

function coloursOf(scheme: 'light' | 'dark') {
  return [
    syntaxHighlighting(scheme === 'dark' ? DARK_COLOURS : defaultHighlightStyle),
    EditorView.theme(BRACKETS, { dark: scheme === 'dark' }),
  ];
}

function toDiagnostic({ state: { doc } }: EditorView, { line, column, message }: CodeError): Diagnostic {
  const location = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const from = Math.min(location.from + Math.max(column - 1, 0), location.to);
  return { from, to: Math.max(from, Math.min(from + 1, location.to)), severity: 'error', message };
}
