import type { Ending } from '../../domain/shared/stream-machine.ts';
import { type UpstreamFault, upstreamError } from '../../domain/upstream/upstream-fault.ts';
import { codeIn } from './error-code.ts';

const timeouts: Readonly<Record<string, 'connect' | 'first_byte' | 'idle'>> = {
  UND_ERR_CONNECT_TIMEOUT: 'connect',
  UND_ERR_HEADERS_TIMEOUT: 'first_byte',
  UND_ERR_BODY_TIMEOUT: 'idle',
};

/** The fault that an undici error stands for: which timeout expired, or that the connection failed. */
export function transportFault(error: Error): UpstreamFault {
  const faultCode = codeIn(error, 4);
  if (faultCode === undefined) return { kind: 'transport' };
  const phase = timeouts[faultCode];
  return phase === undefined ? { kind: 'transport', faultCode } : { kind: 'timeout', phase, faultCode };
}

/** What a stream ends with: the end of its bytes, or a fault. */
export function endingOf(fault: UpstreamFault | undefined): Ending {
  if (fault === undefined) return { kind: 'eof' };
  const { message, upstream } = upstreamError(fault);
  return { kind: 'fault', reason: message, status: upstream?.status, faultCode: upstream?.faultCode };
}
