import { BlockList, isIP } from 'node:net';

/** What a connection and its headers say about the origin of a request. */
export interface ConnectionOrigin {
  /** The other end of the connection. */
  readonly peer: string | undefined;
  /** `X-Forwarded-For`: each proxy appends the address that called it. */
  readonly forwardedFor: string | undefined;
}

/**
 * The client's address. `X-Forwarded-For` is believed only when a trusted proxy sent it, and the client is its
 * rightmost address that is not a trusted proxy. Anyone can write the addresses to the left of that one.
 */
export function clientAddress(
  { peer, forwardedFor }: ConnectionOrigin,
  trustedProxies: readonly string[],
): string {
  const trusted = blockListOf(trustedProxies);
  let client = plainAddress(peer ?? '') ?? 'unknown';
  for (const hop of (forwardedFor ?? '').split(',').reverse()) {
    if (!isIn(trusted, client)) return client;
    const before = plainAddress(hop);
    if (before === undefined) return client;
    client = before;
  }
  return client;
}

/** A client for the purpose of counting: its address, and the network that it shares with others. */
export interface ClientOrigin {
  readonly address: string;
  readonly network: string;
}

/**
 * IPv4: the address and its /24. IPv6: the /64, because one client has 2^64 addresses, and its /48, which is what one
 * site is assigned.
 */
export function countedOrigin(address: string): ClientOrigin {
  switch (isIP(address)) {
    case 4:
      return { address, network: `${address.replace(/\d+$/, '0')}/24` };
    case 6: {
      const groups = groupsOf(address);
      return {
        address: `${groups.slice(0, 4).join(':')}::/64`,
        network: `${groups.slice(0, 3).join(':')}::/48`,
      };
    }
    default:
      return { address, network: address };
  }
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): readonly string[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const listed = (text: string | undefined) => (text === undefined || text === '' ? [] : text.split(':'));
  const [before, after] = [listed(head), listed(tail)];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after];
}

/** Without port, brackets, zone, or the IPv6 spelling of IPv4. `undefined` when it is not an address. */
function plainAddress(text: string): string | undefined {
  const [, bracketed, withPort] =
    /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(text.trim()) ?? [];
  const bare = (bracketed ?? withPort ?? text.trim()).replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(bare) === 0 ? undefined : bare;
}

function blockListOf(blocks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = '', bits] = block.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

const isIn = (list: BlockList, address: string): boolean =>
  list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
