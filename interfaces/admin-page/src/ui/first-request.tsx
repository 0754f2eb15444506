import { Copyable } from './values.tsx';

const text = (): string => `curl ${window.location.origin}/v1/chat/completions \\
  -H "authorization: Bearer $GATEWAY_API_KEY" -H 'content-type: application/json' \\
  -d '{"model": "MODEL", "messages": [{"role": "user", "content": "Hello"}]}'`;

/** A request to copy, for a gateway that has had none. */
export const FirstRequest = () => (
  <>
    <Copyable text={text()} label="A first request" block />
    <p className="muted">Put a key into GATEWAY_API_KEY, and the id of a model in the place of MODEL.</p>
  </>
);
