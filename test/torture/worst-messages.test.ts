import { describe, expect, it } from '@jest/globals';
import { readMcpMessage } from '../../domain/mcp/message.ts';
import { readServerMessage } from '../../domain/mcp/server-message.ts';
import { maxMcpRequestBytes } from '../../domain/shared/limits.ts';
import { mcpAnswer, mcpRequest, valueNames } from './worst-messages.ts';

const isWithin = (text: string | undefined): boolean =>
  text !== undefined && Buffer.byteLength(text) <= maxMcpRequestBytes;

describe('the worst-case MCP messages of the body drill', () => {
  it.each(valueNames)('are within the size limit and parse, as arguments and as a result: %s', (value) => {
    const asked = mcpRequest({ kind: 'arguments', value });
    const answered = mcpAnswer(mcpRequest({ kind: 'result', value }));
    expect([isWithin(asked), isWithin(answered)]).toEqual([true, true]);
    expect(readMcpMessage(asked)).toHaveProperty('_tag', 'Right');
    expect(readServerMessage(answered ?? '')).toHaveProperty('_tag', 'Right');
  });

  it('are within the size limit and parse, as a list of at least 10,000 tools', () => {
    const answered = mcpAnswer(mcpRequest({ kind: 'list' })) ?? '';
    expect(isWithin(answered)).toBe(true);
    expect(readServerMessage(answered)).toHaveProperty('_tag', 'Right');
    expect(answered.split('inputSchema').length).toBeGreaterThan(10_000);
  });
});
