/**
 * What an error of `openid-client` means, as an error of the closed table. It is made of words of our own and of short error
 * codes, because the errors of the library hold tokens. Pure.
 */
import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { EgressError } from '../../egress/egress-error.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { answerRefused, ERROR_WORD, providerDenied, providerUnavailable } from './provider-refusal.ts';

/**
 * Turns what a call to a provider threw into a refusal.
 * @param name of the provider
 * @throws the error itself when it is none of the provider's
 */
export function toRefusal(error: unknown, name: string): MillraceError {
  if (error instanceof MillraceError) return error;
  const egress = causesOf(error).find((one) => one instanceof EgressError);
  if (egress !== undefined) return providerUnavailable(name, egress.message);
  if (error instanceof AuthorizationResponseError) return providerDenied(name, error.error);
  const word = causesOf(error).flatMap((one) => errorWord(one) ?? [])[0];
  if (error instanceof ResponseBodyError || error instanceof WWWAuthenticateChallengeError || word !== undefined) {
    return answerRefused(name, `it answered with the error ${word ?? 'of a challenge'}`);
  }
  // The library throws a TypeError for metadata that is no metadata.
  if (error instanceof ClientError || error instanceof TypeError) {
    const inner = error.cause instanceof Error ? `: ${error.cause.message}` : '';
    return answerRefused(name, `${error.message}${inner}`);
  }
  throw error;
}

function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = [];
  for (let one = error; one !== undefined && causes.length < 8; ) {
    causes.push(one);
    one = typeof one === 'object' && one !== null && 'cause' in one ? one.cause : undefined;
  }
  return causes;
}

/** The error code that a provider answered with: as an error (RFC 6749 section 5.2), or in a 200 as GitHub does. */
function errorWord(one: unknown): string | undefined {
  if (typeof one !== 'object' || one === null) return undefined;
  const body = 'body' in one && typeof one.body === 'object' && one.body !== null ? one.body : one;
  return 'error' in body && typeof body.error === 'string' && ERROR_WORD.test(body.error) ? body.error : undefined;
}
