/**
 * Documented limits of the platform's converse requests, each of which is checked before dispatch. Source: the API
 * reference of `Converse` and `ConverseStream`, 2023-09-30, and of the types that they use.
 */

export const maxStopSequences = 2500;

export const maxToolNameChars = 64;
export const toolNameShape = /^[A-Za-z0-9_-]+$/;
export const toolIdShape = /^[A-Za-z0-9_.:-]{1,64}$/;

export const maxDocumentNameChars = 200;

export const maxMetadataEntries = 16;
/** Whitespace is that of ASCII. */
export const metadataKeyShape = /^[A-Za-z0-9 \t\n\v\f\r:_@$#=/+,.-]{1,256}$/;
export const metadataValueShape = /^[A-Za-z0-9 \t\n\v\f\r:_@$#=/+,.-]{0,256}$/;

export const serviceTiers = ['priority', 'default', 'flex', 'reserved'] as const;

export const latencies = ['standard', 'optimized'] as const;

/** An id, or an ARN; 2048 characters at most. */
export const guardrailShape =
  /^(?=.{1,2048}$)(?:[a-z0-9]+|arn:aws(?:-[^:]+)?:bedrock:[a-z0-9-]{1,20}:\d{12}:guardrail\/[a-z0-9]+)$/;
export const guardrailVersionShape = /^(?:[1-9]\d{0,7}|DRAFT)$/;
export const guardrailTraces = ['enabled', 'disabled', 'enabled_full'] as const;
export const streamProcessingModes = ['sync', 'async'] as const;

export const maxFieldPaths = 10;
export const maxFieldPathChars = 256;

export const imageFormats = ['png', 'jpeg', 'gif', 'webp'] as const;
export const documentFormats = ['pdf', 'csv', 'doc', 'docx', 'xls', 'xlsx', 'html', 'md', 'txt'] as const;
