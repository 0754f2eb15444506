/**
 * Fixed bounds that several files share or that belong to no single file, each with its reason. Other bounds stand
 * beside the one thing that they bound. Bounds that an operator may change are in the configuration, such as
 * `server.body_max_bytes`.
 */

/**
 * Levels of nesting in a request body, and in the parts of an answer that a rule edits. Real tool schemas stay below
 * 30, and walks over a body stay cheap.
 */
export const maxJsonDepth = 256;

/** Levels of nesting beyond which no text from outside is parsed ({@link parseText}). */
export const maxParsedDepth = 1024;

/**
 * Values of a JSON body, and bytes of its text, up to which it is processed in the event loop: reading, translating and
 * redacting that much takes at most about 50 ms. Larger bodies go to the worker thread.
 */
export const maxEventLoopValues = 20_000;
export const maxEventLoopBodyBytes = 1024 * 1024;

/** Bytes that a parsed JSON value takes besides its text: those of an empty object and its slot in an array. */
export const bytesOfValue = 72;

/** Characters of a caller's own key that an error quotes: enough to find it, and too few to inflate the answer. */
export const maxNamedKeyChars = 128;

/**
 * Bytes of one event of an upstream stream, which is read in the event loop. An event with a 4K image takes about 20
 * MB, and reading that much takes at most a quarter of a second.
 */
export const maxStreamEventBytes = 24 * 1024 * 1024;

/**
 * Bytes of one stream after which other work has its turn. A socket hands over up to two mebibytes in a turn of the
 * event loop, and reading that much of the smallest lines or events takes half a second.
 */
export const maxTurnBytes = 128 * 1024;

/**
 * Bytes of request bodies after which other work has its turn. To begin that much takes 10 to 50 ms; fewer bytes would
 * divide the database statements that requests share.
 */
export const maxTurnBodyBytes = 1024 * 1024;

/**
 * JSON values and lines in one event of a stream, which is read in the event loop. A response repeated as a whole, with
 * twenty alternatives for each of 2,500 tokens, has half a million values. Finding and reading that many takes a tenth
 * of a second.
 */
export const maxStreamEventValues = 500_000;
export const maxStreamEventLines = 10_000;

/**
 * Object members in one event. The response above has 160,000. Half a million members, each with a distinct name, take
 * more than a second.
 */
export const maxStreamEventMembers = 200_000;

/** Choices of one streamed answer that are told apart: as many as a chat request may ask for. */
export const maxChoices = 128;

/** Bytes of the headers of one binary event frame, as the format allows. Real ones stay below 200. */
export const maxEventHeadersBytes = 128 * 1024;

/**
 * Bytes of an upstream answer that is not a stream (rule 35.50). The embeddings of 2048 texts, as many as clients send
 * at once, with 3072 numbers each, one a line, have 145 MB.
 */
export const maxUpstreamBodyBytes = 192 * 1024 * 1024;

/**
 * JSON values and object members in such an answer (rule 35.53), which is read by the one thread that reads all large
 * answers and bodies. 2048 embeddings of 4096 numbers have 8.4 million values. Reading ten million empty objects takes
 * three seconds and a gigabyte, and so do four million members with distinct names. Six times as many, for which an
 * answer has the bytes, take minutes and more memory than the thread has.
 */
export const maxAnswerValues = 10_000_000;
export const maxAnswerMembers = 4_000_000;

/** Bytes of an upstream's error body that are read: enough for any message that a person wrote. */
export const maxUpstreamErrorBytes = 64 * 1024;

/** The most characters that a secret takes in an upstream's words: a header's value, doubled for JSON escapes. */
export const maxSecretChars = 16 * 1024;

/** Characters of an upstream's own message that are kept in an error, a log row or a log line. */
export const maxErrorMessageChars = 1024;

/** How long the gateway waits for `[DONE]` or the end after the last choice's `finish_reason` (rule 35.19). */
export const afterTerminalMs = 10_000;

/** Tool calls that are told apart in one stream. Further ones are no longer counted one by one. */
export const maxCountedToolCalls = 4096;

/** Tool calls in one streamed answer that is translated to another family. Agents make a few dozen. */
export const maxTranslatedToolCalls = 1024;

/**
 * Characters of a translated answer that are buffered until the block before them ends. Whole files, written by calls
 * that arrive interleaved, stay below it.
 */
export const maxHeldBackChars = 4 * 1024 * 1024;

/** Characters of a raw `User-Agent` that the request log keeps. Real ones stay below 200. */
export const maxUserAgentChars = 512;

/** Characters of a requested model name that the request log keeps when no such model exists. */
export const maxModelKeyChars = 256;

/** Bespoke caller tags of one request (rule 33.19). */
export const maxBespokeTags = 5;
/** Characters of a caller tag's key (rule 33.20). */
export const maxTagKeyChars = 32;
/** Characters of a caller tag's value (rule 33.20). */
export const maxTagValueChars = 64;

/** `Retry-After` is set on `budget_exceeded` only when the wait is at most this long (rule 34.32). */
export const maxRetryAfterSecs = 60;

/** A token count is an integer in 0 … 2^53 − 1 (rule 36.7). */
export const maxTokenCount = Number.MAX_SAFE_INTEGER;

/** Characters of an item id or `call_id` in a replayed responses conversation, as the provider accepts them. */
export const maxItemIdChars = 64;

/**
 * How long the gateway waits for the end of the stream after a chunk that is held back from the caller. Providers close
 * at once, and one that does not must not delay the answer.
 */
export const heldTerminalMs = 1000;

/** Bytes of chunks that are held back after such a chunk. Providers send none, and a few more answers fit. */
export const maxHeldBytes = 1024 * 1024;

/**
 * Levels of nesting in a stored payload: the deepest allowed body inside its wrap, or a chunk among a stream's events.
 * Anything that an upstream nests deeper is truncated there, so walks over a payload need no more stack.
 */
export const maxPayloadDepth = maxJsonDepth + 4;

/** Values of a body that are read for storing it: more than a stored payload has room for. */
export const maxPayloadValues = 1_000_000;

/**
 * Characters up to which a stored payload keeps an image, audio or file payload: an icon, or an id. Longer ones are
 * replaced by a marker.
 */
export const maxInlineChars = 256;

/**
 * A stream's events are buffered until it ends, up to this multiple of `response_max_bytes`, counted in characters.
 * Redaction and the byte cap shorten what is stored.
 */
export const bufferedCharsPerStoredByte = 2;

/** Bytes that the record of an MCP invocation keeps of its arguments, and of its result (rule 41.14). */
export const maxInvocationJsonBytes = 16 * 1024;

/** Characters of an MCP method, and of a server's or tool's id, name, title or error code. Real ones stay below 128. */
export const maxMcpNameChars = 256;

/** Characters of the id of a JSON-RPC request. Clients count up, or use a UUID. */
export const maxMcpIdChars = 256;

/** Characters of a resource's URI in the union of all MCP servers: as long as most web servers accept one. */
export const maxMcpUriChars = 8192;

/**
 * JSON values in one MCP message, which is read in the event loop. Lists of a thousand tools, and tables that agents
 * write, stay below it.
 */
export const maxMcpValues = 100_000;

/**
 * Keys spelled with an escape in one body or whole answer, or in one event of a stream. Each takes five times as long to
 * parse as a plain key, and tools with names outside ASCII need only a few dozen.
 */
export const maxEscapedKeys = 20_000;

/** Bytes of one message from an MCP caller, which is read in the event loop. Files that agents write stay below it. */
export const maxMcpRequestBytes = 4 * 1024 * 1024;
