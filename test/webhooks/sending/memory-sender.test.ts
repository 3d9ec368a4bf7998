/** A second sender, so that the suite and the door are no copy of the direct one. */
import { memoryWorld } from '../../helpers/webhooks/sender-world.ts';
import { senderSuite } from './sender-suite.ts';

senderSuite(memoryWorld);
