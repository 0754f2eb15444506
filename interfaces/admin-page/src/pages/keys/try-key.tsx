import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { streamChat } from '../../api/chat-stream.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { ErrorLine } from '../../ui/states.tsx';
import { durationText } from '../../ui/values.tsx';

/** One tiny request with the key. Its answer is streamed. */
export function TryKey({ apiKey, model }: { readonly apiKey: string; readonly model: string }) {
  const [text, setText] = useState('');
  const leaving = useRef(new AbortController());
  useEffect(() => {
    const controller = new AbortController();
    leaving.current = controller;
    return () => controller.abort();
  }, []);
  const call = useMutation({
    mutationFn: () => {
      setText('');
      return streamChat({
        key: apiKey,
        model,
        onText: (piece) => setText((before) => before + piece),
        signal: leaving.current.signal,
      });
    },
  });
  return (
    <section className="stack tight" aria-label="Try it">
      <h3>Try it</h3>
      <p className="muted">
        Sends one short chat request to {model} with this key, which costs a few tokens.
      </p>
      <div>
        <ActButton isPending={call.isPending} onAct={() => call.mutate()}>
          {call.isPending ? 'Waiting for the answer…' : 'Send one request'}
        </ActButton>
      </div>
      <ErrorLine error={call.error} />
      {text === '' ? null : (
        <pre className="answer" aria-label="Answer" aria-live="polite" tabIndex={0}>
          {text}
        </pre>
      )}
      {call.data === undefined ? null : (
        <p className="muted">
          {text === '' ? 'The model returned no text. ' : null}
          {call.data.firstTextMs === undefined
            ? null
            : `First text after ${durationText(call.data.firstTextMs)}, `}
          done after {durationText(call.data.totalMs)}
          {call.data.finishReason === 'length' ? ', at the limit of 64 tokens' : ''}.{' '}
          {call.data.requestId === undefined ? null : (
            <a
              href={`/admin/observability/request-logs?request_id=${encodeURIComponent(call.data.requestId)}`}
              target="_blank"
              rel="noreferrer"
            >
              Its request log (new tab)
            </a>
          )}
        </p>
      )}
    </section>
  );
}
