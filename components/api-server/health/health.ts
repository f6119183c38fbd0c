/** health: answers /healthz, /livez and /readyz, all checks or one, with `verbose` and `exclude`. */
import { internalError } from '../../machinery/objects/status-error.ts'
import { unauthenticatedGroup } from '../authn/anonymous.ts'
import type { HealthMetrics } from './health-metrics.ts'
import { answerText } from '../codec/respond.ts'
import type { Answer, RequestInfo, UserInfo } from '../request/request.ts'

export interface HealthCheck {
  readonly name: string
  /** The endpoints that run it. */
  readonly endpoints: readonly ('healthz' | 'livez' | 'readyz')[]
  /** Undefined when healthy, else the reason, which only the log shows. */
  check(): string | undefined | Promise<string | undefined>
  /**
   * Why the newest configuration is not in use: a fault of the operator, not of the server. Only authenticated users see it.
   */
  fault?(): string | undefined
}

const withheld = 'reason withheld'

const endpoints = ['healthz', 'livez', 'readyz'] as const
type Endpoint = (typeof endpoints)[number]

function isEndpoint(name: string): name is Endpoint {
  return (endpoints as readonly string[]).includes(name)
}

/** The endpoint, and the single check, in a path. */
function targetOf(path: string): { endpoint: Endpoint; check: string } | undefined {
  const [, endpoint = '', ...rest] = path.split('/')
  if (!isEndpoint(endpoint)) return undefined
  return { endpoint, check: rest.join('/') }
}

/** Answers a health path; undefined for other paths. Calls `observe` for each check that runs. */
export async function answerHealth(
  { info, user }: { info: Pick<RequestInfo, 'path' | 'query'>; user: UserInfo },
  checks: readonly HealthCheck[],
  observe: HealthMetrics['observe'],
): Promise<Answer | undefined> {
  const target = targetOf(info.path)
  if (target === undefined) return undefined
  const { endpoint, check: wanted } = target
  const mine = checks.filter((check) => check.endpoints.includes(endpoint))
  const resultOf = async (check: HealthCheck): Promise<string | undefined> => {
    const why = await check.check()
    observe(endpoint, check.name, why === undefined)
    return why
  }
  const noteOf = ({ fault }: HealthCheck): string => {
    const why = fault?.()
    if (why === undefined) return ''
    // It names files. An anonymous user sees only what upstream shows.
    const told = user.groups.includes(unauthenticatedGroup) ? withheld : why
    return `: the last one stays in use: ${told}`
  }
  if (wanted !== '') {
    const one = mine.find(({ name }) => name === wanted)
    if (one === undefined) return undefined
    const why = await resultOf(one)
    if (why === undefined) return answerText(200, 'ok')
    return answerText(500, `${internalError(why).message}\n`)
  }
  const { query } = info
  const excluded = new Set(query.getAll('exclude'))
  const lines: string[] = []
  let isHealthy = true
  for (const check of mine) {
    if (excluded.delete(check.name)) {
      lines.push(`[+]${check.name} excluded: ok`)
    } else if ((await resultOf(check)) === undefined) {
      lines.push(`[+]${check.name} ok${noteOf(check)}`)
    } else {
      isHealthy = false
      lines.push(`[-]${check.name} failed: ${withheld}`)
    }
  }
  if (excluded.size > 0) {
    const names = [...excluded].map((name) => `"${name}"`).join(', ')
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`)
  }
  if (!isHealthy) return answerText(500, `${lines.join('\n')}\n${endpoint} check failed\n`)
  if (!query.has('verbose')) return answerText(200, 'ok')
  return answerText(200, `${lines.join('\n')}\nhealthz check passed\n`)
}

/** Paths of the health endpoints, for the index at `/`. */
export function healthPaths(checks: readonly HealthCheck[]): string[] {
  return endpoints.flatMap((endpoint) => [
    `/${endpoint}`,
    ...checks
      .filter((check) => check.endpoints.includes(endpoint))
      .map((check) => `/${endpoint}/${check.name}`),
  ])
}
