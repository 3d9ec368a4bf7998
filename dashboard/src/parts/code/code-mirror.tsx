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

/** A fault at a place, counted from 1. */
export interface CodeFault {
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
  readonly faults?: readonly CodeFault[];
  readonly complete?: CompletionSource;
  readonly readOnly?: boolean;
  /** Lines that are visible at least. */
  readonly lines?: number;
}

export function CodeMirror(props: CodeMirrorProps) {
  const { label, value, language, faults = [], readOnly = false, lines = 8 } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const scheme = useComputedColorScheme('light');
  const colours = useRef(new Compartment());

  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is made once; later values are given to it below
  useEffect(() => {
    if (host.current === null) return;
    const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';
    const made = new EditorView({
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
            // Within quotes Enter never means a new line, so it need not wait until a person has seen the suggestion.
            interactionDelay: language === 'json' ? 0 : 75,
          }),
          keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.lineWrapping,
          EditorState.readOnly.of(readOnly),
          // Said as well: tools that check pages do not know that a text that can be edited can be reached by keys.
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          EditorView.updateListener.of((update) => {
            const text = update.state.doc.toString();
            // A text that the page itself put there is no change by the person.
            if (update.docChanged && text !== latest.current.value) latest.current.onChange?.(text);
          }),
          colours.current.of(coloursOf(scheme)),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [label, language, readOnly]);

  useEffect(() => {
    const made = view.current;
    if (made === null || made.state.doc.toString() === value) return;
    made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: value } });
  }, [value]);

  useEffect(() => {
    view.current?.dispatch({ effects: colours.current.reconfigure(coloursOf(scheme)) });
  }, [scheme]);

  const marks = JSON.stringify(faults);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the marks say all of the faults
  useEffect(() => {
    const made = view.current;
    if (made !== null)
      made.dispatch(
        setDiagnostics(
          made.state,
          faults.map((fault) => toDiagnostic(made, fault)),
        ),
      );
  }, [marks]);

  return <div ref={host} className={classes.editor} style={{ minHeight: `${lines * 1.4 + 1}em` }} />;
}

/**
 * A frame around the bracket that belongs to the one at the cursor. With a background, as CodeMirror has it, Chromium writes
 * that colour into the line as a style when the text is replaced, which the content security policy refuses.
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

function toDiagnostic({ state: { doc } }: EditorView, { line, column, message }: CodeFault): Diagnostic {
  const place = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const from = Math.min(place.from + Math.max(column - 1, 0), place.to);
  return { from, to: Math.max(from, Math.min(from + 1, place.to)), severity: 'error', message };
}
