/** `gateway serve` without its supervisor, so that the process that a test probes is the one that serves. */
import { main } from '../../main.ts';

await main(['serve']);
