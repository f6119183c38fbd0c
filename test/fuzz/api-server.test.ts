/** A repeatable slice of the fuzzer, with CBOR and without, and inputs made to be expensive. `npm run soak` runs the rest. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../support/api-server.ts'
import { describeFinding, fuzz } from './fuzz.ts'

describe.each(['kubernetes', 'svc'] as const)('random requests, dialect %s', (dialect) => {
  let server: TestApiServer
  beforeAll(async () => {
    const cbor = dialect === 'kubernetes'
    server = await startApiServer({
      dialect,
      flags: [`--feature-gates=CBORServingAndStorage=${cbor}`],
    })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    expect(server.faults).toEqual([])
  })

  it('are answered without an error of the server, and refusals name the fault', async () => {
    const seed = Number(process.env['FUZZ_SEED'] ?? (dialect === 'svc' ? 2 : 1))
    const from = Number(process.env['FUZZ_FROM'] ?? 0)
    const findings = await fuzz(
      {
        request: server.request,
        credential: server.credential,
        port: server.port,
        authorityPem: server.pki.authority.certificatePem,
        dialect: server.dialect,
        processorMs: () => {
          const { user, system } = process.cpuUsage()
          return (user + system) / 1000
        },
      },
      { seed, from, to: from + 1500 },
    )
    expect(findings.map(describeFinding)).toEqual([])
    expect(Object.keys(Object.prototype)).toEqual([])
    expect((await server.request('GET', '/livez')).status).toBe(200)
  })
})
