import { describe, expect, it } from '@jest/globals';
import { coordinatorUrl } from '../../infrastructure/postgres/citus/coordinator-url.ts';
import { onEachNode } from '../support/citus-database.ts';
import { withDatabase } from '../support/database.ts';

const database = withDatabase();

describe('the URL of the coordinator', () => {
  it('is that of the single server, and is found from any node of a cluster', async () => {
    for (const url of onEachNode(database.url())) expect(await coordinatorUrl(url)).toBe(database.url());
  });
});
