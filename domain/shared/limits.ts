/**
 * Fixed bounds that several files keep to, or that belong to no one file, each with its reason; others stand beside the
 * one thing that they bound. A bound that an operator may move is in the configuration (`server.body_max_bytes` and its
 * like).
 */

/**
 * Levels of nesting in a request body, and in what a rule edits of an answer. Real tool schemas stay below 30; walks
 * over a body stay cheap.
 */
export const maxJsonDepth = 256;

/** Levels of nesting up to which any text from outside is parsed at all ({@link parseText}). */
export const maxParsedDepth = 1024;

/**
 * Values of a JSON body that are worked on in the event loop, and bytes of its text: reading, translating and redacting
 * as many takes some 50 ms at the worst. Larger bodies are worked on beside it.
 */
export const maxValuesHere = 20_000;
export const maxBodyBytesHere = 1024 * 1024;

/** Bytes that a parsed JSON value takes beside its text: an empty object takes as much, with its place in an array. */
export const bytesOfValue = 72;

/** Characters of a caller's own key that an error names: enough to find it, and no way to blow an answer up. */
export const maxNamedKeyChars = 128;

/**
 * Bytes of one event of an upstream stream, which is read in the event loop: an image of 4K in an event takes some 20 MB,
 * and reading as many a quarter of a second at the worst.
 */
export const maxStreamEventBytes = 24 * 1024 * 1024;

/**
 * JSON values, and lines, of an event of a stream, which is read in the event loop: a response that is told once more as a
 * whole has half a million with twenty alternatives for each of 2,500 tokens. Finding and reading as many takes a tenth of
 * a second.
 */
export const maxStreamEventValues = 500_000;
export const maxStreamEventLines = 10_000;

/**
 * Members of the objects of such an event: that response has 160,000. Where each has a name of its own, half a million
 * take more than a second.
 */
export const maxStreamEventMembers = 200_000;

/** Bytes of the headers of one binary event frame: what the format allows; real ones stay below 200. */
export const maxEventHeadersBytes = 128 * 1024;

/** Bytes of an upstream answer that is not a stream: a full embeddings or image answer stays below it. */
export const maxUpstreamBodyBytes = 64 * 1024 * 1024;

/** Bytes of an upstream's error body that are read: enough for any message that a person wrote. */
export const maxUpstreamErrorBytes = 64 * 1024;

/**
 * Characters that a secret takes at most in what an upstream says: a header's value, with as many characters again that
 * JSON adds.
 */
export const maxSecretChars = 16 * 1024;

/** Characters of an upstream's own message that are kept in an error, a log row or a log line. */
export const maxErrorMessageChars = 1024;

/** How long the gateway waits for `[DONE]` or the end after the `finish_reason` of the last choice (rule 35.19). */
export const afterTerminalMs = 10_000;

/** Tool calls told apart in one stream; beyond it they are no longer counted one by one. */
export const maxCountedToolCalls = 4096;

/** Tool calls of one streamed answer that is told in the words of another family: agents make a few dozen. */
export const maxTranslatedToolCalls = 1024;

/**
 * Characters of such an answer that wait until the block before them has ended: whole files, written by calls that
 * arrive interleaved, stay below it.
 */
export const maxHeldBackChars = 4 * 1024 * 1024;

/** Characters of a raw `User-Agent` that the request log keeps: real ones stay below 200. */
export const maxUserAgentChars = 512;

/** Characters of a requested model name that the request log keeps when no such model exists. */
export const maxModelKeyChars = 256;

/** Bespoke caller tags of one request (rule 33.19). */
export const maxBespokeTags = 5;
/** Characters of a caller tag's key (rule 33.20). */
export const maxTagKeyChars = 32;
/** Characters of a caller tag's value (rule 33.20). */
export const maxTagValueChars = 64;

/** A `budget_exceeded` answer has `Retry-After` only where the wait is at most this long (rule 34.32). */
export const maxRetryAfterSecs = 60;

/** A token count is an integer in 0 … 2^53 − 1 (rule 36.7). */
export const maxTokenCount = Number.MAX_SAFE_INTEGER;

/** Characters of an item id or `call_id` in a replayed responses conversation: what the provider accepts. */
export const maxItemIdChars = 64;

/**
 * How long the gateway waits for the end after a chunk that the caller is kept waiting for: providers close at once,
 * and one that does not must not make an answer late.
 */
export const heldTerminalMs = 1000;

/** Bytes after such a chunk that wait with it: providers send none, and a few more answers fit. */
export const maxHeldBytes = 1024 * 1024;

/**
 * Levels of nesting in a stored payload: a body of the deepest kind in its wrap, or a chunk among the events of a
 * stream. What an upstream nests deeper is cut off there, so that walks over a payload need no more stack.
 */
export const maxPayloadDepth = maxJsonDepth + 4;

/** Values of a body that are looked at to store it: more than a stored payload has room for. */
export const maxPayloadValues = 1_000_000;

/** Characters of an image, audio or file payload that a stored payload keeps: an icon, or an id. */
export const maxInlineChars = 256;

/**
 * Bytes of a stream's events that wait to be stored, as a multiple of `response_max_bytes`: redaction and the cap
 * make less of them, never more, and a stream holds them until it ends.
 */
export const heldEventBytesPerStored = 2;

/**
 * Members in one text of a payload that are looked at because of their keys: more than a stored payload has room for,
 * and as many as are looked at in no time.
 */
export const maxKnownMembers = 20_000;

/** Bytes of the arguments, and of the result, that the record of an MCP invocation keeps (rule 41.14). */
export const maxInvocationJsonBytes = 16 * 1024;

/** Characters of an MCP server's or tool's id, name or error code that are kept: real ones stay below 128. */
export const maxMcpNameChars = 256;

/** Characters of the id of a JSON-RPC request: clients count, or take a UUID. */
export const maxMcpIdChars = 256;

/** Characters of a resource's URI among those of all MCP servers: what the address of a page may have with most servers. */
export const maxMcpUriChars = 8192;

/**
 * JSON values of one MCP message, which is read in the event loop: lists of a thousand tools, and tables that agents
 * write, stay below it.
 */
export const maxMcpValues = 100_000;

/**
 * Keys of a body, or of an event of a stream, that are spelled with an escape. Each takes five times as long to parse as
 * another one, and some dozens are what tools with names outside ASCII come to.
 */
export const maxEscapedKeys = 20_000;

/** Bytes of one message of an MCP caller, which is read in the event loop: files that agents write stay below it. */
export const maxMcpRequestBytes = 4 * 1024 * 1024;
