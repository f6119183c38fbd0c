/** Continue tokens: where the next page of a list starts, and at which revision it reads (upstream: storage/continue.go). */
import { badRequest } from '../machinery/status-error.ts'
import { parseJson } from './decode-body.ts'

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
  const value = parseJson(
    Buffer.from(text, 'base64url'),
    'invalid continue token: continue key is not valid',
  )
  const { v, rv, start } = (value ?? {}) as Record<string, unknown>
  const refuse = (why: string): never => {
    throw badRequest(`invalid continue token: continue key is not valid: ${why}`)
  }
  if (v !== version) refuse('server does not recognize this encoded version')
  if (typeof start !== 'string' || start === '') return refuse('encoded start key empty')
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv <= 0) {
    return refuse('incorrect encoded start resourceVersion')
  }
  return { revision: rv, start }
}
