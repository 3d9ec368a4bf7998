/**
 * Patterns as automata: whether a text matches a pattern, in one pass over the text and in linear time. The states of
 * the deterministic automaton are created when a text leads to them; where a text keeps leading to new ones, its steps
 * are followed without keeping states. A long text is searched in pieces, between which other work may run
 * (cooperative-yield.ts). Its steps come from pattern-program.ts.
 * @see https://swtch.com/~rsc/regexp/regexp1.html
 */
import { resumableProgress, yieldIfDue } from '../../lib/concurrency/cooperative-yield.ts';
import { cachedMatch } from './match-cache.ts';
import {
  ASSERT_END,
  ASSERT_NOT_WORD_EDGE,
  ASSERT_START,
  ASSERT_WORD_EDGE,
  ASSERTION_STEP,
  type PatternNode,
  PatternProgram,
  SET_STEP,
  SPLIT_STEP,
} from './pattern-program.ts';

/** Kind of the character before a position. */
type Before = 'nothing' | 'word' | 'other';

/** A state of the deterministic automaton: the steps that the text so far leads to, and its last kind of character. */
interface State {
  readonly steps: readonly number[];
  readonly before: Before;
  /** By the class of the next character, and at the end of the text. */
  readonly next: (State | undefined)[];
}

/** The end of a search: `FOUND` when the pattern matched, `LOST` when it cannot match any more. */
const FOUND: State = { steps: [], before: 'other', next: [] };
const LOST: State = { steps: [], before: 'other', next: [] };

/** A search of one text. */
interface Search {
  at: number;
  state: State;
  /** Pieces in which no states are kept, because the last one with states led to many new ones. */
  loose: number;
}

/** UTF-16 units that are searched without a pause. */
const PIECE = 256;
/** New states in a piece from which it is slower to keep them, and for how many pieces they are not kept then. */
const MANY = PIECE / 8;
const LOOSE = 32;
/** Maximum numbers in the kept states of all automata together: about 8 MB. */
const MOST_KEPT = 1_000_000;

/** The created states, by automaton. All are dropped when they become too many. */
let kept = new WeakMap<Automaton, Map<string, State>>();
let size = 0;

export class Automaton {
  readonly #program: PatternProgram;
  /** Whether the pattern can match only at the start of a text. */
  readonly #anchored: boolean;
  /** Whether a step was reached: the number of the last character for which it was. */
  readonly #reached: Float64Array;
  readonly #entered: Float64Array;
  readonly #open: Int32Array;
  #out: Int32Array;
  #in: Int32Array;
  #character = 0;
  #created = 0;

  /**
   * @param most maximum number of steps
   * @throws RangeError when it would have more
   */
  constructor(pattern: PatternNode, most: number) {
    const program = new PatternProgram(pattern, most);
    const { size } = program;
    this.#program = program;
    this.#anchored = program.isAnchored();
    [this.#reached, this.#entered] = [new Float64Array(size), new Float64Array(size)];
    [this.#in, this.#out, this.#open] = [new Int32Array(size), new Int32Array(size), new Int32Array(2 * size)];
  }

  /** How many steps the pattern has, each of which a character of a text may lead to. */
  get size(): number {
    return this.#program.size;
  }

  /** Whether the text matches the pattern. */
  test(text: string): boolean {
    return cachedMatch(this, text, () => this.#holds(text));
  }

  #holds(text: string): boolean {
    const begin = (): Search => ({ at: 0, state: this.#state([this.#program.first], 'nothing'), loose: 0 });
    const isLong = text.length > PIECE;
    const done = isLong ? resumableProgress(this, text, begin) : begin();
    while (done.state !== FOUND && done.state !== LOST) {
      if (done.at === text.length) return this.#next(done.state, this.#program.classes.end) === FOUND;
      if (done.loose > 0) this.#searchLoosely(text, done);
      else this.#search(text, done);
      if (isLong) yieldIfDue();
    }
    return done.state === FOUND;
  }

  /** Searches a piece from state to state. */
  #search(text: string, done: Search): void {
    const end = Math.min(text.length, done.at + PIECE);
    const created = this.#created;
    let { at, state } = done;
    while (at < end && state !== FOUND && state !== LOST) {
      const code = text.codePointAt(at) ?? 0;
      const found = this.#program.classes.of(code);
      state = state.next[found] ?? this.#next(state, found);
      at += code > 0xffff ? 2 : 1;
    }
    done.at = at;
    done.state = state;
    if (this.#created - created > MANY) done.loose = LOOSE;
  }

  /** Searches a piece without states. */
  #searchLoosely(text: string, done: Search): void {
    const end = Math.min(text.length, done.at + PIECE);
    let { at } = done;
    let { before, steps } = done.state;
    this.#in.set(steps);
    let count = steps.length;
    while (at < end && count > 0) {
      const code = text.codePointAt(at) ?? 0;
      const found = this.#program.classes.of(code);
      count = this.#step(count, before, found);
      [this.#in, this.#out] = [this.#out, this.#in];
      before = this.#program.classes.isWord(found) ? 'word' : 'other';
      at += code > 0xffff ? 2 : 1;
    }
    steps = [...this.#in.subarray(0, Math.max(0, count))];
    done.at = at;
    done.state = count < 0 ? FOUND : count === 0 ? LOST : { steps, before, next: [] };
    done.loose -= 1;
    if (done.loose === 0 && count > 0) done.state = this.#state(steps.toSorted(byNumber), before);
  }

  /** The state after a character of a class, or `FOUND` if the pattern matched before it. */
  #next(state: State, found: number): State {
    this.#in.set(state.steps);
    const count = this.#step(state.steps.length, state.before, found);
    const before = this.#program.classes.isWord(found) ? 'word' : 'other';
    const next =
      count < 0 ? FOUND : count === 0 ? LOST : this.#state([...this.#out.subarray(0, count)].sort(byNumber), before);
    state.next[found] = next;
    return next;
  }

  /**
   * Moves over one character of a class from the steps in `#in` to those in `#out`.
   * @returns the number of steps then; -1 if the pattern matched before the character
   */
  #step(count: number, before: Before, found: number): number {
    const edge = (before === 'word') === this.#program.classes.isWord(found) ? ASSERT_NOT_WORD_EDGE : ASSERT_WORD_EDGE;
    const assertions =
      edge | (before === 'nothing' ? ASSERT_START : 0) | (found === this.#program.classes.end ? ASSERT_END : 0);
    const { kinds, details, nexts, others, sets, first } = this.#program;
    const [reached, entered, open, out] = [this.#reached, this.#entered, this.#open, this.#out];
    const character = ++this.#character;
    let created = 0;
    for (let n = 0; n < count; n++) {
      open[0] = this.#in[n] ?? 0;
      for (let left = 1; left > 0; ) {
        const at = open[--left] ?? 0;
        if (reached[at] === character) continue;
        reached[at] = character;
        const next = nexts[at] ?? 0;
        switch (kinds[at]) {
          case SET_STEP:
            if (sets[details[at] ?? 0]?.[found] !== 1 || entered[next] === character) break;
            entered[next] = character;
            out[created++] = next;
            break;
          case SPLIT_STEP:
            open[left++] = next;
            open[left++] = others[at] ?? 0;
            break;
          case ASSERTION_STEP:
            if (((details[at] ?? 0) & ~assertions) === 0) open[left++] = next;
            break;
          default:
            return -1;
        }
      }
    }
    if (!this.#anchored && entered[first] !== character) out[created++] = first;
    return created;
  }

  #state(steps: readonly number[], before: Before): State {
    const key = before + String.fromCharCode(...steps);
    const known = kept.get(this)?.get(key);
    if (known !== undefined) return known;
    const cost = steps.length + this.#program.classes.end + 8;
    if (size + cost > MOST_KEPT) {
      kept = new WeakMap();
      size = 0;
    }
    size += cost;
    this.#created += 1;
    const created: State = { steps, before, next: [] };
    const states = kept.get(this) ?? new Map<string, State>();
    kept.set(this, states.set(key, created));
    return created;
  }
}

const byNumber = (a: number, b: number): number => a - b;
