/** Tokens of JSON, and of what readers of it fear. */
export const jsonWords: readonly string[] = [
  ...['{', '}', '[', ']', ',', ':', '"', '\\', 'null', 'true', 'false', '{}', '[]', '""', '-', '.', 'e'],
  ...['\\u0000', '\\ud800', '\\u0022', '"__proto__":', '"constructor":', '"a":1,"a":2', '\\u0061', '#0'],
  ...['1.0', '-0', '1e999', '9007199254740993', '\uFEFF', '/**/', 'NaN', '0x1', '\u2028'],
];

export const sseWords: readonly string[] = [
  ...[
    'data:',
    'data: ',
    'data',
    'event:',
    'event: message\n',
    'event: error\n',
    'id: 1\n',
    'retry: 1\n',
    ': c\n\n',
  ],
  ...[
    '\n',
    '\r',
    '\r\n',
    '\n\n',
    '\r\r',
    '\r\n\r\n',
    'data: [DONE]\n\n',
    'data:\n\n',
    'data: {}\n\n',
    '[DONE]',
  ],
];

/** Words of the families and dialects that are streamed. */
export const streamWords: readonly string[] = [
  ...['"choices":', '"delta":', '"index":', '"finish_reason":"stop"', '"finish_reason":null', '"content":'],
  ...['"tool_calls":', '"function":', '"function_call":', '"arguments":', '"name":', '"id":', '"usage":'],
  ...['"reasoning":', '"reasoning_content":', '"reasoning_text":', '"thinking"', '"refusal":', '"error":'],
  ...['"prompt_tokens":', '"completion_tokens":', '"total_tokens":', '"input_tokens":', '"output_tokens":'],
  ...[
    '"type":',
    'message_start',
    'message_delta',
    'message_stop',
    'content_block_start',
    'content_block_delta',
  ],
  ...[
    'content_block_stop',
    '"content_block":',
    'text_delta',
    'thinking_delta',
    'signature_delta',
    'tool_use',
  ],
  ...['input_json_delta', '"partial_json":', '"stop_reason":"end_turn"', 'vertex_event', 'ping', 'error'],
  ...['response.created', 'response.completed', 'response.incomplete', 'response.failed', '"response":'],
  ...['response.output_text.delta', '"status":"completed"', '"status":"failed"', '"sequence_number":'],
  ...[
    '"candidates":',
    '"parts":',
    '"text":',
    '"finishReason":"STOP"',
    '"usageMetadata":',
    '"promptFeedback":',
  ],
  ...[
    '"functionCall":',
    '"partialArgs":',
    '"jsonPath":"$.a[0].b"',
    '"willContinue":true',
    '"thoughtSignature":',
  ],
  ...['"blockReason":"SAFETY"', '"promptTokenCount":', '"candidatesTokenCount":', '"totalTokenCount":'],
  ...[
    'messageStart',
    'contentBlockStart',
    'contentBlockDelta',
    'contentBlockStop',
    'messageStop',
    'metadata',
  ],
  ...['"contentBlockIndex":', '"toolUse":', '"stopReason":"end_turn"', '"role":"assistant"', ':event-type'],
  ...[':message-type', ':exception-type', 'throttlingException', '"inputTokens":', '"outputTokens":'],
];
