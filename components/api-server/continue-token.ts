/** Continue tokens: where the next page of a list starts, and at which revision it reads (upstream: storage/continue.go). */
import { badRequest } from '../machinery/status-error.ts'

export interface ContinueToken {
  /** Every page reads this revision. */
  readonly revision: number
  /** First key of the next page, relative to the list's prefix. */
  readonly start: string
}

const version = 'v1'

export function encodeContinue(token: ContinueToken): string {
  return Buffer.from(
    JSON.stringify({ v: version, rv: token.revision, start: token.start }),
  ).toString('base64url')
}

/** Parses a token; throws a 400 StatusError for anything this server did not make. */
export function decodeContinue(text: string): ContinueToken {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch (error) {
    throw Object.assign(badRequest('continue key is not valid: illegal token'), { cause: error })
  }
  const { v, rv, start } = (value ?? {}) as Record<string, unknown>
  const isWhole = typeof rv === 'number' && Number.isSafeInteger(rv) && rv > 0
  if (v !== version || !isWhole || typeof start !== 'string' || start === '') {
    throw badRequest('continue key is not valid: incorrect encoded start resourceVersion')
  }
  return { revision: rv, start }
}
