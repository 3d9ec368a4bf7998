/** The suite of the sandbox's door, on isolates in a runner. */
import t from 'tap';
import { IsolateSandbox } from '../../../src/functions/sandbox/host/isolate-sandbox.ts';
import { sandboxSuite } from './sandbox-suite.ts';

t.test('a sandbox of isolates', (t) => sandboxSuite(t, (events) => new IsolateSandbox(events)));
