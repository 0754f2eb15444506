/** `gateway serve` without its supervisor: the process that a test asks what it holds is the one that serves. */
import { main } from '../../main.ts';

await main(['serve']);
