/** Audit of what nobody foresaw. */
import { expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import {
  createAuditPolicy,
  defaultAuditPolicy,
} from '../../../components/api-server/audit/policy.ts'
import { compose } from '../../../components/api-server/start/chain.ts'
import { auditAnswer } from '../../../components/api-server/filters/audit.ts'
import { recover } from '../../../components/api-server/filters/recover.ts'
import type { RequestContext } from '../../../components/api-server/request/request.ts'
import { parseRequestInfo } from '../../../components/api-server/request/request-info.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { notFound } from '../../../components/machinery/objects/status-error.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { YamlBodies } from '../../../components/api-server/encoding/yaml-bodies.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const url = '/api/v1/namespaces/a/pods/x'

async function recordsOf(fault: Error): Promise<unknown[]> {
  const clock = new FakeClock()
  const lines: string[] = []
  const sink = {
    write: async (line: string) => void lines.push(line),
    close: async () => {},
  }
  const { signal } = new AbortController()
  const context: RequestContext = {
    http: {
      method: 'GET',
      url,
      headers: {},
      values: () => [],
      remoteAddress: '127.0.0.1',
      peer: undefined,
      body: async () => Buffer.alloc(0),
      signal,
    },
    dialect: dialects.kubernetes,
    yaml: new YamlBodies(clock),
    id: 'id-1',
    receivedAtMs: clock.now(),
    info: parseRequestInfo('GET', url),
    user: { name: 'ann', groups: [] },
    resource: undefined,
    warnings: [],
    annotations: {},
  }
  const audit = { sink, decide: createAuditPolicy(defaultAuditPolicy), clock }
  const chain = compose([auditAnswer(audit), recover(silentLog)], async () => {
    throw fault
  })
  await chain(context)
  return lines.map((line) => JSON.parse(line) as unknown)
}

test('a fault that nobody foresaw is recorded as Panic, with what it was', async () => {
  expect(await recordsOf(new TypeError('x is not a function'))).toMatchObject([
    {
      stage: 'Panic',
      auditID: 'id-1',
      responseStatus: {
        status: 'Failure',
        reason: 'InternalError',
        message: "APIServer panic'd: x is not a function",
        code: 500,
      },
    },
  ])
})

test('an error that is an answer is none', async () => {
  const { pods } = resourcesOf(dialects.kubernetes)
  expect(await recordsOf(notFound(pods, 'x'))).toMatchObject([
    { stage: 'ResponseComplete', responseStatus: { code: 404, reason: 'NotFound' } },
  ])
})
