/** Bytes of one request body; above the gateway's own default of 32 MiB, so that the gateway's bound is the one that bites. */
export const bodyMaxBytes = 64 * 1024 * 1024;

/** Bytes of request headers; twice what the gateway accepts from callers, because it adds headers of its own. */
export const headersMaxBytes = 64 * 1024;

/** Longest `latency-ms` and `chunk-delay-ms`, milliseconds: ten minutes outlast every time-out that is worth a test. */
export const delayMaxMs = 600_000;

/** Most content deltas of one answer: about an hour of a fast model. */
export const chunksMax = 1_000_000;

/** Bytes of one content delta: far beyond any stream-frame bound. */
export const chunkMaxBytes = 16 * 1024 * 1024;

/** Characters of the text of one whole (not streamed) answer, which is built in memory. */
export const wholeTextMaxChars = 64 * 1024 * 1024;

/** Bytes of a line without end: enough to show that a reader's memory does not follow it. */
export const lineMaxBytes = 1024 * 1024 * 1024;

/** Bytes per write of such a line: what one socket buffer usually takes. */
export const linePieceBytes = 64 * 1024;

/** Characters of the caller's text, or of a tool result, that an answer quotes: echoing a long one would hide the rest. */
export const quoteMaxChars = 400;

/** Levels of a tool's parameter schema that invented arguments follow: a schema may contain itself. */
export const schemaMaxDepth = 8;

/** Elements that an invented array has at most, whatever its schema demands: no tool that agents have asks for more. */
export const schemaMaxItems = 4;

/** Numbers of one embedding vector: more than the widest real model has. */
export const dimensionsMax = 4096;

/** Inputs of one embeddings request: as many as real providers take. */
export const embeddingInputsMax = 2048;

/** Numbers of all vectors of one answer, which is built in memory: about 20 MiB of JSON. */
export const embeddingNumbersMax = 1024 * 1024;

/** Bodies whose prepared answers are kept: a benchmark sends a handful of different ones. */
export const preparedMax = 8;

/** Bytes of a body that may be kept with its prepared answer: twice the benchmark's large body. */
export const preparedBodyMaxBytes = 256 * 1024;

/** Deltas of an answer that may be kept prepared: a text without directives has a few dozen at most. */
export const preparedDeltasMax = 512;

/** Milliseconds an idle connection is kept: longer than a gateway's pool keeps it, so the pool never finds it closed. */
export const idleConnectionMs = 75_000;
