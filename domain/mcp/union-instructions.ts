import { unionPrefix } from './tool-names.ts';

/** The longest instructions of one server that are shown: longer ones would take the context window from all others. */
const maxInstructionsChars = 16 * 1024;

/** What a server says of its use. */
export interface ServerInstructions {
  readonly serverId: string;
  /** Empty when it says nothing. */
  readonly text: string;
}

/** What all servers say of their use, each under its id; `undefined` when none says anything. */
export function unionInstructions(servers: readonly ServerInstructions[]): string | undefined {
  const parts = servers
    .filter(({ text }) => text !== '' && text.length <= maxInstructionsChars)
    .map(
      ({ serverId, text }) =>
        `# MCP server ${serverId} (its tools begin with ${unionPrefix(serverId)})\n\n${text}`,
    );
  return parts.length === 0 ? undefined : parts.join('\n\n');
}
