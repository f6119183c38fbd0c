/** Sessions: browsers that opened the console with a link, known by a cookie. */
import { createHash } from 'node:crypto'
import type { Clock } from '../../components/component-base/clock.ts'

const holdsMs = 12 * 60 * 60_000
const mostSessions = 100

const digest = (value: string): string => createHash('sha256').update(value).digest('hex')

export interface Sessions {
  /** The `Set-Cookie` header of a new session. The oldest session ends when there are too many. */
  begin(): string
  /** Whether the `Cookie` header of a request names a session that has not ended. */
  isOpen(cookieHeader: string | undefined): boolean
}

/** Cookies know no ports, so each console has a name of its own for its cookie: `id` goes into it. */
export function createSessions(id: string, clock: Pick<Clock, 'now' | 'randomBytes'>): Sessions {
  const name = `skiff-console-${id}`
  /** Digest of the value -> when the session ends. */
  const open = new Map<string, number>()
  return {
    begin: () => {
      const value = clock.randomBytes(32).toString('base64url')
      const [oldest] = open.keys()
      if (open.size >= mostSessions && oldest !== undefined) open.delete(oldest)
      open.set(digest(value), clock.now() + holdsMs)
      const lasts = `Max-Age=${holdsMs / 1000}`
      return `${name}=${value}; HttpOnly; SameSite=Strict; Path=/; ${lasts}`
    },
    isOpen: (cookieHeader = '') => {
      const cookie = cookieHeader
        .slice(0, 8192)
        .split(/; */)
        .find((one) => one.startsWith(`${name}=`))
      if (cookie === undefined) return false
      const key = digest(cookie.slice(name.length + 1))
      const endMs = open.get(key) ?? 0
      if (endMs > clock.now()) return true
      open.delete(key)
      return false
    },
  }
}
