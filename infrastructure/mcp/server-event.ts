import type { McpFrame } from '../../application/ports/mcp-upstreams.ts';
import type { TextFrame } from '../../domain/shared/text-frame.ts';

/**
 * What a server's event is to clients. They ignore events of other names than `message`, some of which are heartbeats,
 * except for what these say of resumption: servers of the Go SDK have events of their own for it (rule 54.45).
 */
export function serverEvent({
  event = 'message',
  data,
  wire,
}: Extract<TextFrame, { readonly kind: 'frame' }>): readonly McpFrame[] {
  if (event === 'message') return [{ kind: 'event', data, wire }];
  const resumption = Buffer.from(wire)
    .toString()
    .match(/^(?:id|retry):.*$/gm);
  if (resumption === null) return [];
  const shown = `event: ${event}\n${resumption.join('\n')}\ndata:\n\n`;
  return [{ kind: 'event', data: '', wire: Buffer.from(shown) }];
}
