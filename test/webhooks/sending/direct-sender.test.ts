/** Runs the suite of all senders on the direct sender. */
import { directFixture } from '../../helpers/webhooks/sender-fixture.ts';
import { senderSuite } from './sender-suite.ts';

senderSuite(directFixture);
