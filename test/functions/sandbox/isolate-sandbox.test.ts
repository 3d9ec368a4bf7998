/** The sandbox suite on isolates in a runner. */
import t from 'tap';
import { IsolateSandbox } from '../../../src/functions/sandbox/host/isolate-sandbox.ts';
import { sandboxSuite } from './sandbox-suite.ts';

t.test('The sandbox of isolates passes the suite.', (t) => sandboxSuite(t, (events) => new IsolateSandbox(events)));
