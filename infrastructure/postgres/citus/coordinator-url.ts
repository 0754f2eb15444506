import { withClient } from '../client.ts';
import { hasCitus } from './distribute.ts';
import { nodeUrl } from './node-url.ts';

/**
 * The URL of a cluster's coordinator, given the URL of any of its nodes: each node knows the others. The URL of a
 * server that is not a worker of a cluster is returned as it is.
 */
export const coordinatorUrl = (url: string): Promise<string> =>
  withClient(url, async (client) => {
    if (!(await hasCitus(client))) return url;
    const { rows } = await client.query<{ host: string; port: number }>(
      `select n.nodename as host, n.nodeport as port from pg_dist_local_group l
       join pg_dist_node n on n.groupid = 0 where l.groupid <> 0`,
    );
    const [coordinator] = rows;
    return coordinator === undefined ? url : nodeUrl(url, coordinator.host, coordinator.port);
  });
