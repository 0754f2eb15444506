import { it } from '@jest/globals';
import { onCitus } from './citus-database.ts';

/** A test of what only a single server has: its plans, its partitions, its order of batches. */
export const itOnOneServer = () => (onCitus() ? it.skip : it);
