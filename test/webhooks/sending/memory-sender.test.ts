/** A second sender, so that the suite and the interface are no copy of the direct one. */
import { memoryFixture } from '../../helpers/webhooks/sender-fixture.ts';
import { senderSuite } from './sender-suite.ts';

senderSuite(memoryFixture);
