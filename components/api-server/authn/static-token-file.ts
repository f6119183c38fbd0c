/** The static token file: CSV of token, user name, uid and groups, read once (spec: "Static token file"). */
import { hash } from 'node:crypto'
import type { UserInfo } from '../request/request.ts'
import type { AuthenticationResult, TokenAuthenticator } from './authenticator.ts'

/** The records of CSV text: fields in quotes may hold commas, line ends and doubled quotes. Throws on a quote out of place. */
export function parseCsv(source: string): string[][] {
  const records: string[][] = []
  const field = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r?\n|$)/y
  let record: string[] = []
  while (field.lastIndex < source.length) {
    const start = field.lastIndex
    const found = field.exec(source)
    if (found === null) {
      const line = source.slice(0, start).split('\n').length
      throw new Error(`line ${line}: a quote is out of place`)
    }
    const [, raw = '', end = ''] = found
    record.push(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw)
    if (end === ',') {
      if (field.lastIndex === source.length) record.push('')
      else continue
    }
    if (record.length > 1 || record[0] !== '') records.push(record)
    record = []
  }
  return records
}

/** Tokens are compared by their digests, so that the time reveals nothing about them. */
const digest = (token: string): string => hash('sha256', token, 'base64')

export interface StaticTokens {
  readonly users: ReadonlyMap<string, UserInfo>
  /** The lengths of the tokens, which are not secret: most tokens of other kinds have another length. */
  readonly lengths: ReadonlySet<number>
}

/** The users by token. Throws an Error that describes the line's error, never its content. */
export function parseStaticTokens(source: string): StaticTokens {
  const users = new Map<string, UserInfo>()
  const lengths = new Set<number>()
  for (const [at, record] of parseCsv(source).entries()) {
    const [token = '', name = '', uid = '', ...groupColumns] = record.map((field) => field.trim())
    if (record.length < 3) {
      throw new Error(
        `record ${at + 1}: must have at least 3 columns (token, user name, user uid), found ${record.length}`,
      )
    }
    if (token === '') throw new Error(`record ${at + 1}: the token is empty`)
    if (name === '') throw new Error(`record ${at + 1}: the user name is empty`)
    const groups = groupColumns.flatMap((column) => column.split(',')).map((group) => group.trim())
    lengths.add(token.length)
    users.set(digest(token), { name, uid, groups: groups.filter((group) => group !== '') })
  }
  return { users, lengths }
}

const unknown: AuthenticationResult = { kind: 'none', why: 'not in the token file' }

export function staticTokenAuthenticator({ users, lengths }: StaticTokens): TokenAuthenticator {
  return {
    name: 'static-token',
    authenticateToken(token): AuthenticationResult {
      const user = lengths.has(token.length) ? users.get(digest(token)) : undefined
      return user === undefined ? unknown : { kind: 'user', user }
    },
  }
}
