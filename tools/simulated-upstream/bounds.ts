/** Bytes of a request body: above the gateway's default of 32 MiB, so that the gateway's limit applies first. */
export const bodyMaxBytes = 64 * 1024 * 1024;

/** Bytes of request headers: twice what the gateway accepts from callers, because it adds headers of its own. */
export const headersMaxBytes = 64 * 1024;

/** Longest `latency-ms` and `chunk-delay-ms`, in milliseconds: ten minutes outlast every timeout worth testing. */
export const delayMaxMs = 600_000;

/** Most content deltas of an answer: about an hour of a fast model. */
export const chunksMax = 1_000_000;

/** Bytes of a content delta: far beyond any limit on stream frames. */
export const chunkMaxBytes = 16 * 1024 * 1024;

/** Characters of the text of a whole (not streamed) answer, which is built in memory. */
export const wholeTextMaxChars = 64 * 1024 * 1024;

/** Bytes of a line that does not end: enough to show that a reader's memory does not grow with it. */
export const lineMaxBytes = 1024 * 1024 * 1024;

/** Bytes per write of such a line: what a socket buffer usually takes. */
export const linePieceBytes = 64 * 1024;

/**
 * Characters of the caller's text, or of a tool result, that an answer quotes: echoing a long one would hide the rest.
 */
export const quoteMaxChars = 400;

/** Levels of a tool's parameter schema that generated arguments follow, because a schema may contain itself. */
export const schemaMaxDepth = 8;

/** Most elements of a generated array, whatever its schema demands: no tool of real agents asks for more. */
export const schemaMaxItems = 4;

/** Numbers in an embedding vector: more than in the widest real model. */
export const dimensionsMax = 4096;

/** Inputs of an embeddings request: as many as real providers accept. */
export const embeddingInputsMax = 2048;

/** Numbers in all vectors of an answer, which is built in memory: about 20 MiB of JSON. */
export const embeddingNumbersMax = 1024 * 1024;

/** Bodies whose prepared answers are cached: a benchmark sends a handful of different ones. */
export const preparedMax = 8;

/** Bytes of a body that may be cached with its prepared answer: twice the benchmark's large body. */
export const preparedBodyMaxBytes = 256 * 1024;

/** Deltas of an answer that may be cached: a text without directives has a few dozen at most. */
export const preparedDeltasMax = 512;

/**
 * How long an idle connection is kept, in milliseconds: longer than the gateway's pool keeps it, so that the pool never
 * finds it closed.
 */
export const idleConnectionMs = 75_000;
