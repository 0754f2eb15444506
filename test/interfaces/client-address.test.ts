import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { clientAddress, countedOrigin } from '../../interfaces/http/client-address.ts';

const trusted = ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '2001:db9::7'];

describe("the client's address", () => {
  it.each([
    ['no proxy', '203.0.113.5', undefined, '203.0.113.5'],
    ['IPv4 in IPv6', '::ffff:203.0.113.5', undefined, '203.0.113.5'],
    ['a client that claims to be another', '203.0.113.5', '198.51.100.1', '203.0.113.5'],
    ['a trusted proxy', '10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['a trusted proxy in IPv6 spelling', '::ffff:10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['the rightmost, whatever the client wrote', '10.1.2.3', '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    ['two trusted proxies', '10.1.2.3', '1.1.1.1, 198.51.100.1, 192.0.2.7', '198.51.100.1'],
    ['trusted proxies of both families', '2001:db8::1', '198.51.100.1,10.9.9.9', '198.51.100.1'],
    ['only trusted proxies', '10.1.2.3', '10.1.1.1, 192.0.2.7', '10.1.1.1'],
    ['a proxy that sends no header', '10.1.2.3', undefined, '10.1.2.3'],
    ['a proxy that sends an invalid header', '10.1.2.3', '198.51.100.1, unknown', '10.1.2.3'],
    ['an empty header', '10.1.2.3', '', '10.1.2.3'],
    ['IPv4 in IPv6 in capitals', '::FFFF:203.0.113.5', undefined, '203.0.113.5'],
    ['a trusted proxy that is one IPv6 address', '2001:db9::7', '198.51.100.1', '198.51.100.1'],
    ['a port', '10.1.2.3', '198.51.100.1:4711', '198.51.100.1'],
    ['a port behind a blank', '10.1.2.3', '1.1.1.1, 198.51.100.1:4711 ', '198.51.100.1'],
    ['words around an address', '10.1.2.3', '198.51.100.1, for[198.51.100.2]', '10.1.2.3'],
    ['words behind an address', '10.1.2.3', '198.51.100.1, [198.51.100.2]:1x', '10.1.2.3'],
    ['brackets and a port', '10.1.2.3', '[2001:db9::1]:4711', '2001:db9::1'],
    ['brackets', '10.1.2.3', '[2001:db9::1]', '2001:db9::1'],
    ['a zone', 'fe80::1%eth0', undefined, 'fe80::1'],
    ['IPv6 that only ends like IPv4 in IPv6', '2001:db9::ffff:1.2.3.4', undefined, '2001:db9::ffff:1.2.3.4'],
    ['a closed connection', undefined, '198.51.100.1', 'unknown'],
  ])('%s', (_name, peer, forwardedFor, address) => {
    expect(clientAddress({ peer, forwardedFor }, trusted)).toBe(address);
  });

  it("is always the peer's if no proxy is trusted", () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.string(), (peer, forwardedFor) => {
        expect(clientAddress({ peer, forwardedFor }, [])).toBe(peer);
      }),
    );
  });

  it('cannot be chosen by the client behind a trusted proxy', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.ipV4())), (claims) => {
        const forwardedFor = [...claims, '198.51.100.1'].join(', ');
        expect(clientAddress({ peer: '10.1.2.3', forwardedFor }, trusted)).toBe('198.51.100.1');
      }),
    );
  });
});

describe('the address and network under which a client is counted', () => {
  it.each([
    ['198.51.100.1', '198.51.100.1', '198.51.100.0/24'],
    ['198.51.100.255', '198.51.100.255', '198.51.100.0/24'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['2001:DB8:1:2::6', '2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['2001:db8::1', '2001:db8:0:0::/64', '2001:db8:0::/48'],
    ['::1', '0:0:0:0::/64', '0:0:0::/48'],
    ['1::2:3:4:5:6', '1:0:0:2::/64', '1:0:0::/48'],
    ['unknown', 'unknown', 'unknown'],
  ])('%s is counted as %s in %s', (given, address, network) => {
    expect(countedOrigin(given)).toEqual({ address, network });
  });

  it('is the same for two addresses of one /64', () => {
    fc.assert(
      fc.property(fc.ipV6(), fc.nat(0xffff), (address, host) => {
        const network = countedOrigin(address).address.replace('::/64', '');
        expect(countedOrigin(`${network}::${host.toString(16)}`)).toEqual(countedOrigin(address));
      }),
    );
  });

  it('differ in the address and share the network for two addresses of one /24', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.nat(255), (address, host) => {
        const other = address.replace(/\d+$/, String(host));
        expect(countedOrigin(other)).toEqual({ ...countedOrigin(address), address: other });
      }),
    );
  });
});
