import { useState } from 'react';
import { grouped } from '../../ui/amounts.ts';
import { Badge } from '../../ui/values.tsx';
import type { ConversationTurns } from './conversation.ts';
import { MarkedText } from './marked-text.tsx';
import type { Piece, Turn } from './turns.ts';

/** Turns that are shown at first: the newest ones say most. */
const shownTurns = 60;

/** A request and its answer as a conversation. */
export function ConversationView({ conversation }: { readonly conversation: ConversationTurns }) {
  const [isWhole, setWhole] = useState(false);
  const { turns, tools } = conversation;
  const hidden = isWhole ? 0 : Math.max(0, turns.length - shownTurns);
  return (
    <div className="stack">
      {tools.length === 0 ? null : (
        <details className="fold">
          <summary>
            {tools.length === 1 ? '1 tool was offered' : `${grouped(tools.length)} tools were offered`}
          </summary>
          <p>{tools.join(', ')}</p>
        </details>
      )}
      {hidden === 0 ? null : (
        <button type="button" className="button" onClick={() => setWhole(true)}>
          Show {hidden} earlier turns
        </button>
      )}
      <ol className="turns" aria-label="Conversation">
        {turns.slice(hidden).map((turn, index) => (
          // An index is a stable key here, because a stored payload never changes.
          <TurnView key={hidden + index} turn={turn} />
        ))}
      </ol>
    </div>
  );
}

const roles: Readonly<Record<string, string>> = {
  system: 'System',
  developer: 'Developer',
  user: 'User',
  assistant: 'Assistant',
  tool: 'Tool result',
  function: 'Tool result',
  error: 'Error',
  other: 'Not recognised',
};

const TurnView = ({ turn }: { readonly turn: Turn }) => (
  <li className={`turn ${Object.hasOwn(roles, turn.role) ? turn.role : 'other'} ${turn.from}`}>
    <h4>
      {Object.hasOwn(roles, turn.role) ? roles[turn.role] : turn.role}
      {turn.from === 'answer' ? <span className="muted"> answered</span> : null}
    </h4>
    {turn.pieces.length === 0 ? <p className="muted">Empty.</p> : null}
    {turn.pieces.map((piece, index) => (
      // An index is stable here too.
      <PieceView key={index} piece={piece} />
    ))}
  </li>
);

function PieceView({ piece }: { readonly piece: Piece }) {
  switch (piece.kind) {
    case 'text':
      return <MarkedText text={piece.text} />;
    case 'refusal':
      return (
        <div>
          <Badge tone="warn">Refusal</Badge> <MarkedText text={piece.text} />
        </div>
      );
    case 'reasoning':
      return (
        <details className="fold">
          <summary>Reasoning, {grouped(piece.text.length)} characters</summary>
          <MarkedText text={piece.text} />
        </details>
      );
    case 'call':
      return <Call piece={piece} />;
    case 'result':
      return <Result piece={piece} />;
    case 'media':
    case 'other':
      return (
        <div className="tool">
          <span className="muted">{piece.what}</span>
          <MarkedText text={piece.text} code />
        </div>
      );
  }
}

const Call = ({ piece }: { readonly piece: Extract<Piece, { kind: 'call' }> }) => (
  <div className="tool">
    <div className="row">
      <Badge tone="plain">Tool call</Badge> <strong>{piece.name}</strong>
      {piece.id === undefined ? null : <code className="muted">{piece.id}</code>}
    </div>
    {piece.args === '' ? <p className="muted">No arguments.</p> : <MarkedText text={piece.args} code />}
    {piece.result === undefined ? null : <Result piece={piece.result} />}
  </div>
);

const Result = ({ piece }: { readonly piece: Extract<Piece, { kind: 'result' }> }) => (
  <div className="tool-result">
    <div className="row">
      <span className="muted">Result</span>
      {piece.failed ? <Badge tone="bad">failed</Badge> : null}
    </div>
    {piece.text === '' ? <p className="muted">Empty.</p> : <MarkedText text={piece.text} code />}
  </div>
);
